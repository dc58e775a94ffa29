"""Start a program on one processor, with the CPU time of all that it starts in its turn."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from hindmost.errors import TargetError

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_PERF_TYPE_SOFTWARE, _TASK_CLOCK = 1, 1
_ATTRIBUTE_BYTES = 112
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV = 1 << 1, 1 << 5, 1 << 6
_FD_CLOEXEC = 1 << 3


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


_WATCH = """
import os, select, signal, sys
ours, its = map(int, sys.argv[1:])
try:
    ends, poll = [os.pidfd_open(ours), os.pidfd_open(its)], select.poll()
    for end in ends:
        poll.register(end, select.POLLIN)
    left = ends[0] in [end for end, _ in poll.poll()]
except ProcessLookupError:
    left = True
if left:
    try:
        os.killpg(its, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""
"""Ends the group of a process when we are gone (``kill -9``), and itself when that process has ended."""


class Launched:
    """A program in a session of its own, on one processor from its first instruction, as all that it starts.

    Parameters
    ----------
    command : sequence of str
    cpu : int
    stdout : int
        As of ``subprocess.Popen``.
    real_time : bool
        Whether it goes before all that is not real-time, where that is allowed.

    Raises
    ------
    TargetError
        Where it cannot be started.
    """

    def __init__(self, command: Sequence[str], cpu: int, *, stdout: int, real_time: bool) -> None:
        self.real_time = False
        self._watcher: subprocess.Popen[bytes] | None = None
        refused: list[OSError] = []

        # Placement and the clock are inherited: a thread of its own has them, and gives them away.
        def start() -> None:
            self.cpu_time = CpuTime.of_what_starts_here()
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, {cpu})
            try:
                self.process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                refused.append(error)

        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
        if refused:
            self.cpu_time.close()
            raise TargetError(f"{command[0]} cannot be started: {refused[0].strerror}")
        self.cpu_time.of(self.process.pid)
        if real_time:
            # Not by that thread: on one processor with a real-time program it would never end.
            with contextlib.suppress(OSError):
                os.sched_setscheduler(self.process.pid, os.SCHED_FIFO, os.sched_param(1))
                self.real_time = True

    def watch(self) -> None:
        """Have it ended should we be gone (``kill -9``): for what works until it is ended, in real time."""
        self._watcher = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WATCH, str(os.getpid()), str(self.process.pid)],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def send(self, which: signal.Signals) -> None:
        """Send it, and all that it started, a signal; one that ends reaches those that are stopped, too."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, which)

    def end(self) -> None:
        """End the program and all that it started, and give back what it took."""
        self.send(signal.SIGKILL)
        self.process.wait()
        self.close()

    def close(self) -> None:
        """Give back what it took, after the program has ended."""
        if self._watcher is not None:
            self._watcher.wait()
        self.cpu_time.close()


def ended_by(code: int) -> str:
    """Say how a process ended, by its return code as Python has it.

    >>> ended_by(3), ended_by(-9)
    ('it ended with exit code 3', 'it was ended by SIGKILL')
    """
    if code >= 0:
        return f"it ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"it was ended by {signal.Signals(-code).name}"
    return f"it was ended by signal {-code}"
