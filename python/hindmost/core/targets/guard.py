"""The guard: a tiny process between Hindmost and a server it started, so that nothing is left behind.

Hindmost may die at any moment (``kill -9``, out of memory). The guard then stops the server and all its
descendants. `hindmost.core.targets.warden` starts it as a plain file. It imports only the standard library
and speaks JSON lines: on standard input a folder to create, or null, and a request (``Folder``, ``Request``
there), then ``stop`` or ``kill``; on standard output events.

::

    Hindmost ──control pipe──> guard ──fork, exec──> server ──fork──> workers, daemons
             <──report pipe───   │   <── orphans are adopted by the guard (child subreaper)
             <····pidfd·······───┘

Guarantees
    - End of file on the control pipe, the end of Hindmost's process (pidfd, in case a stray fork kept the
      pipe open), ``SIGTERM`` or ``stop``: the server is stopped as its target says, and after the timeout
      everything that descends from the guard gets ``SIGKILL`` until ``wait`` says that no child is left.
    - Between start and stop it sleeps in one ``poll`` without a timeout: no wake-up during a measurement.
    - It has its own session, so a terminal's Ctrl-C reaches Hindmost only; the server has its own process
      group.

Limits
    If the guard itself is killed with ``SIGKILL``, the server gets its stop signal through
    ``PR_SET_PDEATHSIG``. The kernel clears that setting when the server changes its credentials
    (``prctl(2)``), so a server that drops privileges by itself survives (with ``user`` in the target file the
    guard drops them first, and it does not); Hindmost, if it lives, then ends the server's process group.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36
STOP_WORDS = (b"stop", b"kill")
LOG_TAIL_BYTES = 4096
KILL_PATIENCE_S = 10.0  # how long to insist with SIGKILL; a process in uninterruptible sleep may outlast it


def parents() -> dict[int, int]:
    """Map every visible process to its parent, except processes that have ended and wait to be reaped.

    ``/proc/*/task/*/children`` would be shorter but exists only under ``CONFIG_PROC_CHILDREN``.
    """
    found = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 (half the system calls of Path.iterdir)
        if entry.isdigit():
            # After the last ')' (a name may hold spaces and brackets): state, parent (proc(5)).
            with contextlib.suppress(OSError, ValueError):
                stat = Path(f"/proc/{entry}/stat").read_bytes()
                state, parent = stat.rpartition(b")")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    found[int(entry)] = int(parent)
    return found


def descendants(root: int) -> list[int]:
    """Return all processes below `root`, nearest first, without `root` itself."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found = list(children.get(root, []))
    for pid in found:  # grows during the loop
        found.extend(children.get(pid, []))
    return found


def prctl(option: int, value: int | ctypes.Array[ctypes.c_char]) -> None:
    """Change an attribute of the calling process (``prctl(2)``)."""
    argument = ctypes.c_ulong(value) if isinstance(value, int) else value
    if ctypes.CDLL(None, use_errno=True).prctl(option, argument, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def report(event: str, **fields: Any) -> None:  # noqa: ANN401 (any JSON)
    """Send an event to Hindmost; do nothing if it is gone."""
    with contextlib.suppress(OSError):
        os.write(1, json.dumps({"event": event, **fields}).encode() + b"\n")


class Control:
    """The three events that can wake the guard: control pipe, signal, end of Hindmost."""

    def __init__(self, controller: int) -> None:
        self.lines: list[bytes] = []
        self._partial = b""
        self._poll = select.poll()
        self._poll.register(0, select.POLLIN)
        self._wake, wake_in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # Handlers, not SIG_IGN: an ignored signal would stay ignored in the server (signal(7)).
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(wake_in, warn_on_full_buffer=False)
        self._poll.register(self._wake, select.POLLIN)
        self.ended = False
        try:
            self._pidfd = os.pidfd_open(controller)
            self._poll.register(self._pidfd, select.POLLIN)
        except OSError as error:  # a kernel before 5.3 has no pidfd: the pipe alone must do
            self._pidfd = -1
            self.ended = error.errno == errno.ESRCH

    def next_line(self) -> bytes | None:
        """Wait for the next line of the control pipe; return None once Hindmost has gone."""
        while not self.lines and not self.ended:
            self.wait(None)
        return None if self.ended else self.lines.pop(0)

    def wait(self, seconds: float | None) -> None:
        """Sleep until an event, or for `seconds`; `ended` and `lines` then have the result."""
        for fd, _ in self._poll.poll(None if seconds is None else max(0, round(seconds * 1000))):
            if fd == self._wake:
                self.ended |= signal.SIGTERM in os.read(fd, 512)
            elif fd == 0:
                chunk = os.read(0, 65536)
                *whole, self._partial = (self._partial + chunk).split(b"\n")
                self.lines += whole
                if not chunk:
                    self._poll.unregister(0)
                    self.ended = True
            else:
                self._poll.unregister(fd)
                self.ended = True


class Guard:
    """One server: start it, wait, and stop it with all its descendants."""

    def __init__(self, request: dict[str, Any], control: Control) -> None:
        self.request = request
        self.control = control
        self.main: int | None = None
        self.main_running = False
        self.children_left = False
        # Opened once, while its folder is ours: later the server may have replaced it by a link.
        place, flags = request["log"], os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self.log = os.open(os.devnull if place is None else place, os.O_RDWR | flags, 0o600)

    def start(self) -> None:
        """Start the server on its CPUs, as its user, in its own process group."""
        here, cpus = os.sched_getaffinity(0), set(self.request["cpus"])
        try:
            if cpus:
                os.sched_setaffinity(0, cpus)  # inherited by the server
                if (granted := os.sched_getaffinity(0)) != cpus:  # the kernel drops forbidden ones
                    raise OSError(f"of CPUs {sorted(cpus)} the kernel permits only {sorted(granted)}")
            self.main = self._spawn(self.request["argv"], self.request["program"])
        finally:
            if cpus:
                os.sched_setaffinity(0, here)
        self.main_running = self.children_left = True
        report("started", pid=self.main)

    def _spawn(self, argv: list[str], program: str | None) -> int:
        request, guard = self.request, os.getpid()

        def die_with_guard() -> None:
            # Runs after the change of user, which would clear it.
            prctl(PR_SET_PDEATHSIG, request["stop_signal"])
            if os.getppid() != guard:
                os._exit(1)

        server = subprocess.Popen(
            argv,
            executable=program,
            stdin=subprocess.DEVNULL,
            stdout=self.log if request["stdout"] is None else request["stdout"],
            stderr=self.log,
            cwd=request["cwd"],
            env=request["env"],
            process_group=0,
            preexec_fn=die_with_guard,
            user=request["uid"],
            group=request["gid"],
            extra_groups=request["groups"],
            umask=0o022,  # ours may be stricter
        )
        server.returncode = 0  # reaped by `reap`, not by Popen
        return server.pid

    def reap(self) -> None:
        """Collect every child that ended; report the end of the server and of the last process."""
        while self.children_left:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.children_left = False
                report("gone")
                return
            if pid == 0:
                return
            if pid == self.main:
                self.main_running = False
                code = os.waitstatus_to_exitcode(status)
                report("exited", code=code, log=self.log_tail())

    def log_tail(self) -> str:
        """The last few kilobytes that the server wrote."""
        try:
            begin = max(0, os.fstat(self.log).st_size - LOG_TAIL_BYTES)
            return os.pread(self.log, LOG_TAIL_BYTES, begin).decode(errors="replace")
        except OSError:
            return ""

    def stop(self, *, patiently: bool) -> None:
        """Ask for the end, wait, then kill; end when no child is left (or one cannot be killed)."""
        deadline = time.monotonic() + (self.request["stop_timeout_s"] if patiently else 0.0)
        if self.children_left and patiently:
            self._ask()
        orphans_asked = not self.main_running
        while self.children_left and (left := deadline - time.monotonic()) > 0:
            self.control.wait(left)
            if b"kill" in self.control.lines:
                break
            self.reap()
            if not self.main_running and not orphans_asked:  # the server ended before its helpers
                orphans_asked = True
                self._signal_children()
        forced = self.children_left
        give_up = time.monotonic() + KILL_PATIENCE_S
        while self.children_left and time.monotonic() < give_up:
            for pid in descendants(os.getpid()):  # repeatedly: they may fork, and we adopt orphans
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self.control.wait(0.02)
            self.reap()
        report("stopped", forced=forced, left=descendants(os.getpid()) if self.children_left else [])

    def _ask(self) -> None:
        command = self.request["stop_argv"]
        try:
            if command and self.main_running:
                self._spawn(command, None)
                return
        except (OSError, subprocess.SubprocessError) as error:
            report("stop-command-failed", error=str(error))
        self._signal_children()

    def _signal_children(self) -> None:
        if self.main_running and self.main is not None:
            pids = [self.main]
        else:  # it daemonised, or left helpers: their roots were adopted by the guard
            pids = [pid for pid, parent in parents().items() if parent == os.getpid()]
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, self.request["stop_signal"])
                os.kill(pid, signal.SIGCONT)  # a stopped process (SIGSTOP) must wake up first


def give_away(path: str, uid: int, gid: int) -> None:
    """Change the owner of one of our folders and everything in it, itself last, without following links."""
    for _, folders, files, here in os.fwalk(path, topdown=False):
        for name in (*folders, *files):
            os.chown(name, uid, gid, dir_fd=here, follow_symlinks=False)
    os.chown(path, uid, gid, follow_symlinks=False)


def run(folder: dict[str, Any] | None, control: Control) -> None:
    """Create the folder, wait for the request, and guard one server from start to end."""
    if folder is not None:
        os.mkdir(folder["path"], 0o700)  # noqa: PTH102
    try:
        if folder is not None:
            report("folder")
        line = control.next_line()
        if line is None or line in STOP_WORDS:
            return
        guard = Guard(json.loads(line), control)
        if folder is not None and folder["uid"] is not None:
            give_away(folder["path"], folder["uid"], folder["gid"])
        try:
            guard.start()
            while not control.ended and not control.lines:
                control.wait(None)
                guard.reap()
            guard.stop(patiently=b"kill" not in control.lines)
        except BaseException:
            guard.stop(patiently=False)
            raise
    finally:
        if folder is not None:
            import shutil

            shutil.rmtree(folder["path"], ignore_errors=True)


def main(controller: int) -> int:
    """Serve one warden. `controller` is the process to outlive."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_NAME, ctypes.create_string_buffer(b"hindmost-guard"))
    os.chdir("/")
    control = Control(controller)
    line = control.next_line()
    try:
        if line is not None and line not in STOP_WORDS:
            run(json.loads(line), control)
    except (OSError, ValueError, subprocess.SubprocessError) as error:  # ValueError: a NUL in the command
        report("failed", error=str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
