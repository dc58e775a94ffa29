"""A batch job with a fixed amount of work: each run is one unit."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Self

from hindmost.commands.colocate.launch import describe_exit, run_once
from hindmost.errors import TargetError

LEAST_RUN_MS = 20.0
"""A shorter run is mostly the start of the program."""
LONGEST_RUN_S = 60.0


class Runs:
    """A command that runs once in each window; the window lasts as long as the run.

    Its cost is the CPU time of the process and of all children that it waited for (``wait4(2)``), so every
    run must do the same work. It has no real-time priority, because nothing limits how long it would keep a
    CPU.

    Parameters
    ----------
    command : sequence of str
    cpu : int
        CPU of the command.
    """

    name = "runs"
    hint = (
        "use a command that does the same CPU-bound work each time; --work cpu does not suit one that waits"
    )
    counts_children = True

    def __init__(self, command: Sequence[str], cpu: int) -> None:
        self.command = list(command)
        self._cpu = cpu
        self._running: subprocess.Popen[bytes] | None = None
        self._runs, self._used_ns = 0, 0
        self.run_ms = 0.0

    def __enter__(self) -> Self:
        """Run the command once, so that files are cached and its duration is known."""
        start = time.monotonic()
        self.resume()
        self.run_window(0.0)
        self.count("in the run before windows")
        self.run_ms = (time.monotonic() - start) * 1000
        if self.run_ms < LEAST_RUN_MS:
            raise TargetError(
                "short-run",
                f"{shlex.join(self.command)}: a run took {self.run_ms:.1f} ms; below {LEAST_RUN_MS:g} ms,"
                " most of that is starting the program",
                hint="give it more work: a larger file, or a loop",
                command=self.command,
                value=self.run_ms,
                least=LEAST_RUN_MS,
            )
        return self

    def __exit__(self, *_: object) -> None:
        """End a remaining run with all its descendants."""
        if self._running is not None:
            self._end(self._running)
            self._running.wait()
            self._running = None

    def pause(self) -> None:
        """Do nothing: no process exists between runs."""

    def resume(self) -> None:
        """Start a run."""
        self._running = run_once(self.command, self._cpu)

    def run_window(self, _length_s: float) -> None:
        """Wait until the run ends.

        Raises
        ------
        TargetError
            The run takes too long.
        """
        running = self._running
        assert running is not None
        end = time.monotonic() + LONGEST_RUN_S
        while os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > end:
                raise TargetError(
                    "long-run",
                    f"{shlex.join(self.command)}: a run was not over after {LONGEST_RUN_S:g} s",
                    hint="give it less work, or let it loop and report units (lines, --counter)",
                    command=self.command,
                    most=LONGEST_RUN_S,
                )
            time.sleep(0.001)
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        self._end(running)
        self._runs += 1
        self._used_ns += int((usage.ru_utime + usage.ru_stime) * 1e9)

    def count(self, when: str, window: int | None = None, beside: str | None = None) -> tuple[float, int]:
        """Return the number of runs so far, and their CPU time, ns.

        Raises
        ------
        TargetError
            The last run failed, so it did different work.
        """
        code = 0 if self._running is None else self._running.returncode
        if code:
            raise TargetError(
                "program-ended",
                f"{shlex.join(self.command)}: {describe_exit(code)} {when}; a failed run does different work",
                hint="run the command alone and look at its exit code and stderr",
                command=self.command,
                **describe_exit(code).fields,
                window=window,
                beside=beside,
            )
        return self._runs, self._used_ns

    def _end(self, running: subprocess.Popen[bytes]) -> None:
        """End what the run has left in its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
