"""Hindmost's end of the guard: starts it, sends the request, reads its reports."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hindmost.core.targets import guard
from hindmost.errors import TargetError

# The guard needs this much time in s beyond the server's stop timeout: to retry SIGKILL, and to remove files.
GUARD_MARGIN_S = guard.KILL_PATIENCE_S + 5.0


@dataclass(frozen=True)
class Folder:
    """A folder for one start. The guard creates it first, and removes it whatever happens to Hindmost.

    Attributes
    ----------
    path
        Must not exist yet.
    uid, gid
        Its owner; None: the user of Hindmost.
    """

    path: str
    uid: int | None = None
    gid: int | None = None


@dataclass(frozen=True)
class Request:
    """The program for the guard to run; crosses the control pipe as one JSON line.

    Attributes
    ----------
    argv, program
        The command and its executable file.
    log
        File for the server's output (appended); None: it is discarded, except for `stdout`, a descriptor
        passed to the guard.
    stop_argv
        Command that stops the server; empty: send `stop_signal`.
    """

    argv: Sequence[str]
    program: str
    env: Mapping[str, str]
    cwd: str
    cpus: Sequence[int]
    log: str | None
    stop_signal: int
    stop_argv: Sequence[str]
    stop_timeout_s: float
    uid: int | None = None
    gid: int | None = None
    groups: Sequence[int] | None = None
    stdout: int | None = None


@dataclass(frozen=True)
class ExitReport:
    """How a server ended.

    Attributes
    ----------
    pid
        The process of the start command.
    status
        Exit status; negative: the signal that killed it (as in `subprocess`).
    log
        The last few kilobytes of its output.
    expected
        True if it ended because it was asked to.
    forced
        True if something had to be killed after the stop timeout.
    left
        Processes that could not be killed (uninterruptible sleep); almost always empty.
    """

    pid: int | None
    status: int | None
    log: str
    expected: bool = False
    forced: bool = False
    left: tuple[int, ...] = ()

    def describe(self) -> str:
        """Return in a few words how it ended, for example ``"was killed by SIGKILL"``."""
        if self.status is None:
            return "ended without a status"
        if self.status < 0:
            with contextlib.suppress(ValueError):
                return f"was killed by {signal.Signals(-self.status).name}"
            return f"was killed by signal {-self.status}"
        return f"exited with status {self.status}"


class Warden:
    """One guard process and, after `launch`, the server below it.

    Parameters
    ----------
    folder : Folder, optional
        Created before this returns.
    pass_fds : sequence of int
        Descriptors to pass to the guard.

    Raises
    ------
    TargetError
        If the guard does not start, or cannot create the folder.
    """

    def __init__(self, folder: Folder | None, *, pass_fds: Sequence[int] = ()) -> None:
        self.folder = folder
        self.pid: int | None = None
        self.status: int | None = None
        self.main_running = False
        self.gone = False
        self.log = ""
        self.forced = False
        self.left: tuple[int, ...] = ()
        self._asked_to_stop = False
        self._expected = False
        self._stopped = False
        self._stop_timeout_s = 0.0
        self._failure: str | None = None
        self._folder_made = False
        self._partial = b""
        # A plain file with -I -S: standard library only, no site-packages, ready in about 40 ms.
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            pass_fds=pass_fds,
        )
        assert self._guard.stdout is not None
        self._reports = self._guard.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._reports, select.POLLIN)
        try:
            self._send(json.dumps(None if folder is None else asdict(folder)))
            if folder is not None:
                self._wait_for(lambda: self._folder_made, f"cannot make the folder {folder.path}")
        except BaseException:
            self.stop(patiently=False)
            raise

    def launch(self, request: Request) -> None:
        """Start the server; the caller stops the warden if this fails.

        Raises
        ------
        TargetError
            If it cannot be started: gives the reason.
        """
        self._stop_timeout_s = request.stop_timeout_s
        self._send(json.dumps(asdict(request)))
        self._wait_for(lambda: self.pid is not None, f"cannot start {request.argv[0]}")

    def _wait_for(self, condition: Callable[[], bool], otherwise: str) -> None:
        while not condition():
            if self._failure is not None or self._stopped:
                raise TargetError(
                    "server-failed",
                    f"{otherwise}: {self._failure or 'its guard process ended'}",
                    reason=self._failure,
                )
            self.pump(None)

    @property
    def guard_pid(self) -> int:
        """Process id of the guard."""
        return self._guard.pid

    def pump(self, seconds: float | None) -> None:
        """Read reports; return when one came, or after `seconds` (None: without a limit)."""
        if self._stopped:
            return
        if self._poll.poll(None if seconds is None else max(0, round(seconds * 1000))):
            chunk = os.read(self._reports, 65536)
            *lines, self._partial = (self._partial + chunk).split(b"\n")
            for line in lines:
                self._handle(json.loads(line))
            if not chunk:
                self._stopped = True

    def _handle(self, report: dict[str, Any]) -> None:
        match report["event"]:
            case "folder":
                self._folder_made = True
            case "started":
                self.pid, self.main_running = report["pid"], True
            case "exited":
                self.status, self.log, self.main_running = report["code"], report["log"], False
                self._expected = self._asked_to_stop
            case "gone":
                self.gone = True
            case "stopped":
                self.forced, self.left = report["forced"], tuple(report["left"])
            case "failed":
                self._failure = report["error"]

    def alive(self) -> bool:
        """Whether the server still runs, also as a daemon (exit status 0)."""
        self.pump(0)
        return not self._stopped and (self.main_running or (self.status == 0 and not self.gone))

    def _send(self, line: str) -> None:
        assert self._guard.stdin is not None
        # OSError: the guard is gone, and the reports say so. ValueError: a second Ctrl-C found it stopped.
        with contextlib.suppress(OSError, ValueError):
            self._guard.stdin.write(line.encode() + b"\n")
            self._guard.stdin.flush()

    def stop(self, *, patiently: bool = True) -> ExitReport:
        """Stop the server and all its descendants; idempotent. Ctrl-C meanwhile kills it, then continues."""
        if self._guard.returncode is None:
            self.pump(0)  # it may have ended before this request
            self._asked_to_stop = True
            try:
                if patiently:
                    self._finish("stop", self._stop_timeout_s)
                else:
                    self._finish("kill", 0.0)
            except BaseException:
                self._finish("kill", 0.0)
                raise
        return self.exit_report()

    def _finish(self, command: str, timeout_s: float) -> None:
        self._send(command)
        deadline = time.monotonic() + timeout_s + GUARD_MARGIN_S
        while not self._stopped and (left := deadline - time.monotonic()) > 0:
            self.pump(left)
        if not self._stopped:
            self._guard.kill()
        assert self._guard.stdin is not None
        assert self._guard.stdout is not None
        with contextlib.suppress(OSError):
            self._guard.stdin.close()
        self._guard.wait()
        self._guard.stdout.close()
        self._stopped = True
        if self.main_running and self.pid is not None:
            # The guard was killed: end the server's group ourselves.
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
            self.main_running = False
        if self.folder is not None and self._folder_made and Path(self.folder.path).exists():
            import shutil

            shutil.rmtree(self.folder.path, ignore_errors=True)

    def exit_report(self) -> ExitReport:
        """Return how the server ended; `status` is None while it runs."""
        return ExitReport(self.pid, self.status, self.log, self._expected, self.forced, self.left)
