"""Starting a program on one CPU, and measuring the CPU time of the program and its descendants."""

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

from hindmost.core.targets.warden import Request, Warden
from hindmost.errors import TargetError

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_PERF_TYPE_SOFTWARE, _TASK_CLOCK = 1, 1
_ATTRIBUTE_BYTES = 112
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV = 1 << 1, 1 << 5, 1 << 6
_FD_CLOEXEC = 1 << 3


class Ending(NamedTuple):
    """How a program ended: text, and ``exit_status`` or ``signal``; no fields if its guard was killed."""

    text: str
    fields: dict[str, Any]

    def __str__(self) -> str:
        return self.text


class CpuTime:
    """CPU time of a process and its descendants, including those that have ended.

    It is measured by the kernel's task clock (``perf_event_open(2)``, inherited), which every user may use
    with ``kernel.perf_event_paranoid`` up to 2. Otherwise it covers only living threads of the process.

    Attributes
    ----------
    counts_children : bool
        Whether descendants are included.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._pid = 0

    @classmethod
    def inherit_from_thread(cls) -> Self:
        """Count this thread and all that it starts from now on; for a thread that starts one program."""
        call = _PERF_EVENT_OPEN.get(platform.machine())
        if call is None:
            return cls(None)
        flags = _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HV
        head = struct.pack("=IIQQQQQ", _PERF_TYPE_SOFTWARE, _ATTRIBUTE_BYTES, _TASK_CLOCK, 0, 0, 0, flags)
        attribute = ctypes.create_string_buffer(head, _ATTRIBUTE_BYTES)
        found = ctypes.CDLL(None, use_errno=True).syscall(call, attribute, 0, -1, -1, _FD_CLOEXEC)
        return cls(found if found >= 0 else None)

    @property
    def counts_children(self) -> bool:  # noqa: D102
        return self._descriptor is not None

    def attach(self, pid: int) -> None:
        """Set the process that was started."""
        self._pid = pid

    def ns(self) -> int:
        """Return the CPU time so far, ns."""
        if self._descriptor is not None:
            return int.from_bytes(os.read(self._descriptor, 8), "little")
        used = 0
        with contextlib.suppress(FileNotFoundError):
            for task in Path(f"/proc/{self._pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    used += int((task / "schedstat").read_text(encoding="ascii").split()[0])
        return used

    def close(self) -> None:
        """Close the kernel's counter."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class LaunchedProgram:
    """A program on one CPU that runs, with its descendants, until it is ended.

    The guard that servers have (`hindmost.core.targets.guard`) runs between us and the program. Whatever
    happens to us (``kill -9``), it ends the program and all its descendants, including daemons.

    Parameters
    ----------
    command : sequence of str
    cpu : int
    read : bool
        Whether the caller reads `stdout`; otherwise it is discarded.
    real_time : bool
        Whether to ask for real-time priority.

    Attributes
    ----------
    stdout : int or None
        Read end of a pipe.

    Raises
    ------
    TargetError
        The program cannot be started.
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
        self.cpu_time.attach(self.pid)
        if real_time:
            with contextlib.suppress(OSError):
                os.sched_setscheduler(self.pid, os.SCHED_FIFO, os.sched_param(1))
                self.real_time = True

    def ending(self) -> Ending | None:
        """Return how the program ended; None while it runs."""
        alive, status = self._warden.alive(), self._warden.status
        if status is not None:
            return describe_exit(status)
        return None if alive else Ending("its guard process was killed, which ended the program", {})

    def send(self, which: signal.Signals) -> None:
        """Send a signal to the program's process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, which)

    def end(self) -> None:
        """End the program with all its descendants, and release its resources."""
        self._warden.stop(patiently=False)
        if self.stdout is not None:
            os.close(self.stdout)
            self.stdout = None
        self.cpu_time.close()


def run_once(command: Sequence[str], cpu: int) -> subprocess.Popen[bytes]:
    """Start a program that ends on its own, in a new session, on one CPU shared by its descendants.

    Raises
    ------
    TargetError
        The program cannot be started.
    """

    # CPU affinity is inherited, so a separate thread sets its own and starts the program.
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
    """Start something from a thread with an inherited CPU clock, which covers all descendants."""
    with ThreadPoolExecutor(1) as thread:
        clock = thread.submit(CpuTime.inherit_from_thread).result()
        try:
            return clock, thread.submit(start).result()
        except BaseException:
            clock.close()
            raise


def describe_exit(code: int) -> Ending:
    """Describe how a process ended, from its return code in Python's convention.

    >>> describe_exit(3).fields, describe_exit(-9).fields
    ({'exit_status': 3}, {'signal': 'SIGKILL'})
    """
    if code >= 0:
        return Ending(f"it ended with exit code {code}", {"exit_status": code})
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return Ending(f"{name} ended it", {"signal": name})
