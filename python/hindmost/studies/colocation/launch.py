"""Start a program on one processor, with the CPU time of all that it starts in its turn."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import shutil
import signal
import struct
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Self

from hindmost.errors import TargetError
from hindmost.targets.warden import Request, Warden

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_PERF_TYPE_SOFTWARE, _TASK_CLOCK = 1, 1
_ATTRIBUTE_BYTES = 112
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV = 1 << 1, 1 << 5, 1 << 6
_FD_CLOEXEC = 1 << 3


class Ending(NamedTuple):
    """How a program ended: a sentence, and ``exit_status`` or ``signal``; neither if its guard was killed."""

    text: str
    fields: dict[str, Any]

    def __str__(self) -> str:
        return self.text


class CpuTime:
    """CPU time of a process and its descendants, of those that are gone, too.

    By the kernel's task clock (``perf_event_open(2)``, inherited), which anybody may use with
    ``kernel.perf_event_paranoid`` up to 2; else of the living threads of the process alone.

    Attributes
    ----------
    of_children : bool
        Whether its descendants are in it.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._pid = 0

    @classmethod
    def of_what_starts_here(cls) -> Self:
        """Of this thread and all that it starts from now on: a thread that starts one program, and ends."""
        call = _PERF_EVENT_OPEN.get(platform.machine())
        if call is None:
            return cls(None)
        flags = _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HV
        head = struct.pack("=IIQQQQQ", _PERF_TYPE_SOFTWARE, _ATTRIBUTE_BYTES, _TASK_CLOCK, 0, 0, 0, flags)
        attribute = ctypes.create_string_buffer(head, _ATTRIBUTE_BYTES)
        found = ctypes.CDLL(None, use_errno=True).syscall(call, attribute, 0, -1, -1, _FD_CLOEXEC)
        return cls(found if found >= 0 else None)

    @property
    def of_children(self) -> bool:  # noqa: D102
        return self._descriptor is not None

    def of(self, pid: int) -> None:
        """Name the process that was started."""
        self._pid = pid

    def ns(self) -> int:
        """Nanoseconds so far."""
        if self._descriptor is not None:
            return int.from_bytes(os.read(self._descriptor, 8), "little")
        used = 0
        with contextlib.suppress(FileNotFoundError):
            for task in Path(f"/proc/{self._pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    used += int((task / "schedstat").read_text(encoding="ascii").split()[0])
        return used

    def close(self) -> None:
        """Give it back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Launched:
    """A program that works until it is ended, on one processor, as all that it starts.

    Between us and it stands the guard that servers have (`hindmost.targets.guard`), from before its first
    instruction: whatever happens to us (``kill -9``), it and all that descends from it end, daemons too.

    Parameters
    ----------
    command : sequence of str
    cpu : int
    read : bool
        Whether `stdout` is read; else nobody does.
    real_time : bool
        Whether it goes before all that is not real-time, where that is allowed.

    Attributes
    ----------
    stdout : int or None
        Descriptor of the end of a pipe.

    Raises
    ------
    TargetError
        Where it cannot be started.
    """

    def __init__(
        self, command: Sequence[str], cpu: int, *, read: bool = False, real_time: bool = False
    ) -> None:
        self.real_time = False
        program = shutil.which(command[0])
        if program is None:
            raise TargetError(
                "missing-program",
                f"{command[0]} cannot be started: {os.strerror(errno.ENOENT)}",
                hint="check the path, or install the program",
                name=command[0],
            )
        self.stdout: int | None = None
        its: int | None = None
        if read:
            self.stdout, its = os.pipe()
        try:
            self.cpu_time, self._warden = _with_clock(
                lambda: Warden(None, pass_fds=[] if its is None else [its])
            )
        except BaseException:
            if self.stdout is not None:
                os.close(self.stdout)
            raise
        finally:
            if its is not None:
                os.close(its)
        try:
            self._warden.launch(
                Request(
                    argv=list(command),
                    program=program,
                    env=dict(os.environ),
                    cwd=str(Path.cwd()),
                    cpus=[cpu],
                    log=None,
                    stdout=its,
                    stop_signal=signal.SIGKILL,
                    stop_argv=[],
                    stop_timeout_s=0.0,
                )
            )
        except BaseException:
            self.end()
            raise
        assert self._warden.pid is not None
        self.pid = self._warden.pid
        self.cpu_time.of(self.pid)
        if real_time:
            with contextlib.suppress(OSError):
                os.sched_setscheduler(self.pid, os.SCHED_FIFO, os.sched_param(1))
                self.real_time = True

    def ended(self) -> Ending | None:
        """How the program ended; None while it runs."""
        alive, status = self._warden.alive(), self._warden.status
        if status is not None:
            return ended_by(status)
        return None if alive else Ending("its guard process was killed, which ended the program", {})

    def send(self, which: signal.Signals) -> None:
        """Send it, and all that it started in its group, a signal."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, which)

    def end(self) -> None:
        """End the program and all that it started, and give back what it took."""
        self._warden.stop(patiently=False)
        if self.stdout is not None:
            os.close(self.stdout)
            self.stdout = None
        self.cpu_time.close()


def run_once(command: Sequence[str], cpu: int) -> subprocess.Popen[bytes]:
    """Start a program that ends by itself, in a session of its own, on one processor, as all that it starts.

    Raises
    ------
    TargetError
        Where it cannot be started.
    """

    # The place is inherited: a thread of its own has it, and gives it away.
    def start() -> subprocess.Popen[bytes]:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {cpu})
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(
            command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
        )

    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(start).result()
        except OSError as error:
            raise TargetError(
                "missing-program" if isinstance(error, FileNotFoundError) else "program-not-started",
                f"{command[0]} cannot be started: {error.strerror}",
                hint="check the path and its permissions",
                name=command[0],
            ) from None


def _with_clock(start: Callable[[], Warden]) -> tuple[CpuTime, Warden]:
    """Start something, and have the CPU time of all that comes from it: it inherits a thread's clock."""
    with ThreadPoolExecutor(1) as thread:
        clock = thread.submit(CpuTime.of_what_starts_here).result()
        try:
            return clock, thread.submit(start).result()
        except BaseException:
            clock.close()
            raise


def ended_by(code: int) -> Ending:
    """Describe how a process ended, from its return code as Python gives it.

    >>> ended_by(3).fields, ended_by(-9).fields
    ({'exit_status': 3}, {'signal': 'SIGKILL'})
    """
    if code >= 0:
        return Ending(f"it ended with exit code {code}", {"exit_status": code})
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return Ending(f"{name} ended it", {"signal": name})
