"""`hindmost` as a process of its own that need not be loaded: forked off an interpreter that has loaded it once.

Loading takes most of a second of processor time, which says nothing about the command and which some hundred starts
would pay for. Whatever is about the start itself starts an interpreter of its own (`measuring.start` with ``fresh``).
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from functools import cache
from typing import IO, Any

LOADED = (
    "hindmost.cli.app",
    "hindmost.cli.attribute",
    "hindmost.cli.host.doctor",
    "hindmost.cli.measure",
    "hindmost.cli.outcome",
    "hindmost.cli.progress",
    "hindmost.cli.study.report",
    "hindmost.cli.gate",
    "hindmost.cli.clone.serve",
    "hindmost.fleet",
    "hindmost.models.serving",
    "hindmost.run.request.elsewhere",
    "hindmost.report.attribution",
    "hindmost.report.doctor",
    "hindmost.report.measure",
    "hindmost.report.measure.junit",
    "hindmost.report.measure.markdown",
    "hindmost.report.serving.terminal",
    "hindmost.report.comparison",
    "hindmost.studies.attribution",
    "hindmost.studies.comparison.targets",
    "hindmost.studies.measure.kind",
    "hindmost.studies.measure.limits.failure",
    "hindmost.studies.search.kind",
    "hindmost.studies.comparison.clone.kind",
    "scipy.special",
)
"""What verbs load on their way, for which no test waits twice."""
PAGES = ("attribution.html", "comparison.html", "page.html")
"""Templates of pages that many tests have written: compiling one takes a third of a second."""


ROOM = 1 << 20
"""Of a pipe. A test may wait for an end before it reads what was said, which is more than the usual 64 KiB at times."""


class Forked:
    """A process that is waited for as `subprocess.Popen` would, though its parent is the interpreter."""

    def __init__(self, pid: int, ended: IO[bytes], out: IO[str], err: IO[str]) -> None:
        self.pid = pid
        self.stdout, self.stderr = out, err
        self.returncode: int | None = None
        self._ended = ended
        self._readers: list[threading.Thread] = []
        self._heard: dict[IO[str], str] = {}

    def poll(self) -> int | None:
        return self._over(0.0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._over(timeout)
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired("hindmost", timeout)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All that it says, and its end; may be called again after a timeout."""
        if not self._readers:
            for stream in (self.stdout, self.stderr):
                self._readers.append(threading.Thread(target=self._read, args=(stream,), daemon=True))
                self._readers[-1].start()
        deadline = None if timeout is None else time.monotonic() + timeout
        for reader in self._readers:
            reader.join(None if deadline is None else max(deadline - time.monotonic(), 0.0))
            if reader.is_alive():
                assert timeout is not None
                raise subprocess.TimeoutExpired("hindmost", timeout)
        self.wait(None if deadline is None else max(deadline - time.monotonic(), 0.0))
        return self._heard[self.stdout], self._heard[self.stderr]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _read(self, stream: IO[str]) -> None:
        with stream:
            self._heard[stream] = stream.read()

    def _over(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], timeout)[0]:
            with self._ended:
                self.returncode = int(self._ended.read())
        return self.returncode


def fork(arguments: list[str], env: Mapping[str, str] | None = None) -> Forked:
    """`hindmost ARGUMENTS` in a session of its own."""
    asked = {
        "arguments": arguments,
        "env": dict(os.environ if env is None else env),
        "folder": os.getcwd(),  # noqa: PTH109 (as text)
        "cpus": sorted(os.sched_getaffinity(0)),
    }
    pipes = [os.pipe() for _ in range(3)]
    for _, write in pipes[1:]:
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, ROOM)
    talk = interpreter()
    socket.send_fds(talk, [json.dumps(asked).encode()], [write for _, write in pipes])
    for _, write in pipes:
        os.close(write)
    ended, out, err = (read for read, _ in pipes)
    return Forked(int(talk.recv(100)), os.fdopen(ended, "rb"), os.fdopen(out), os.fdopen(err))


@cache
def interpreter() -> socket.socket:
    """The way to it; it ends with this process."""
    global _interpreter
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # A library's threads do not survive a fork.
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    with theirs:
        _interpreter = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=env,
        )
    assert ours.recv(100) == b"loaded"
    return ours


_interpreter: subprocess.Popen[bytes]
"""Kept, because one that is forgotten while it runs is warned of."""


def serve(talk: socket.socket) -> dict[str, Any]:
    """Fork whenever asked and tell each end, until nobody asks any more; returns in the child, with what to do."""
    living: dict[int, tuple[int, int]] = {}
    while True:
        for ready in select.select([talk, *living], [], [])[0]:
            if ready in living:
                pid, ended = living.pop(ready)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with contextlib.suppress(BrokenPipeError):
                    os.write(ended, str(code).encode())
                os.close(ended)
                os.close(ready)
                continue
            text, files, *_ = socket.recv_fds(talk, 1 << 20, 3)
            if not text:
                sys.exit()
            pid = os.fork()
            if pid == 0:
                become(files, [talk.detach(), *living, *(ended for _, ended in living.values())])
                return dict(json.loads(text))
            living[os.pidfd_open(pid)] = (pid, files[0])
            for descriptor in files[1:]:
                os.close(descriptor)
            talk.send(str(pid).encode())


def become(files: list[int], others: list[int]) -> None:
    """A process as a shell would start it, without what is the interpreter's."""
    os.setsid()
    _, out, err = files
    os.dup2(out, 1)
    os.dup2(err, 2)
    for descriptor in (*files, *others):
        os.close(descriptor)


def main(talk: socket.socket) -> int:
    sys.path[:1] = []  # the tests' own folder
    for name in LOADED:
        importlib.import_module(name)
    from hindmost.report.common import sheet

    for name in PAGES:
        sheet.load_template(name)
    gc.freeze()
    talk.send(b"loaded")
    asked = serve(talk)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["folder"])
    os.sched_setaffinity(0, asked["cpus"])
    sys.argv[1:] = asked["arguments"]
    from hindmost.cli import main as hindmost

    return hindmost()


if __name__ == "__main__":
    sys.exit(main(socket.socket(fileno=int(sys.argv[1]))))
