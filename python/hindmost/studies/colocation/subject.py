"""A program under study: started on a processor of its own, its work counted, stopped and ended with us."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from hindmost.errors import TargetError

_FIRST_UNIT_S = 5.0
_LEAST_LINES = 3
_PIPE_BYTES = 1 << 20
"""Room for the lines of a window: nobody reads while both processors are taken."""


class Subject:
    """A running program whose lines on stdout are its units of work.

    Rates are units a second of its own CPU time: what others take of the processor does not count. That is
    wrong for programs that spin while they wait.

    Parameters
    ----------
    command : sequence of str
    cpu : int
        Where it runs.
    real_time : bool
        Whether it goes before all that is not real-time, where that is allowed; it is paused between windows.
    """

    def __init__(self, command: Sequence[str], cpu: int, *, real_time: bool = False) -> None:
        self.command = list(command)
        self.real_time = False
        self._lines = 0
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise TargetError(f"{self.command[0]} cannot be started: {error.strerror}") from None
        assert self._process.stdout is not None
        self._out = self._process.stdout.fileno()
        os.set_blocking(self._out, False)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        with contextlib.suppress(OSError):
            os.sched_setaffinity(self._process.pid, {cpu})
            if real_time:
                os.sched_setscheduler(self._process.pid, os.SCHED_FIFO, os.sched_param(1))
                self.real_time = True

    def __enter__(self) -> Self:
        """Wait for the first units."""
        end = time.monotonic() + _FIRST_UNIT_S
        while self._drain() < _LEAST_LINES:
            if time.monotonic() > end or self._process.poll() is not None:
                why = self._ended() or f"it printed {self._lines} lines in {_FIRST_UNIT_S:g} s"
                self.__exit__()
                raise TargetError(
                    f"{shlex.join(self.command)}: {why}; a line on its stdout is one unit of work",
                    hint="print a line for each unit, flushed: python -u, stdbuf -oL",
                )
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        """End the program and all that it started; a signal that ends reaches those that are stopped, too."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def pause(self) -> None:
        """Stop it where it is."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def count(self) -> tuple[int, int]:
        """Units so far, and CPU time in nanoseconds.

        Raises
        ------
        TargetError
            Where the program has ended.
        """
        if (why := self._ended()) is not None:
            raise TargetError(
                f"{shlex.join(self.command)}: {why} during the profile: it must work until it is ended",
                hint="repeat its work in a loop",
            )
        return self._drain(), self._cpu_ns()

    def _ended(self) -> str | None:
        code = self._process.poll()
        return None if code is None else f"it ended with exit code {code}"

    def _signal(self, which: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, which)

    def _cpu_ns(self) -> int:
        """Of all its threads (/proc/PID/task/TID/schedstat); those that are gone are not in it."""
        used = 0
        for task in Path(f"/proc/{self._process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                used += int((task / "schedstat").read_text(encoding="ascii").split()[0])
        return used

    def _drain(self) -> int:
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._out, _PIPE_BYTES):
                self._lines += chunk.count(b"\n")
        return self._lines
