"""`hindmost` as a separate process without the cost of imports: forked from an interpreter that has them loaded.

Loading takes most of a second of CPU time, which hundreds of starts would repeat. Tests of the start itself start a new
interpreter instead (`measuring.start` with ``fresh``).
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

PRELOADED = (
    "hindmost.cli.app",
    "hindmost.commands.attribute.cli",
    "hindmost.commands.host.cli.doctor",
    "hindmost.commands.measure.cli",
    "hindmost.cli.outcome",
    "hindmost.cli.progress",
    "hindmost.commands.study.cli.report",
    "hindmost.commands.measure.gate",
    "hindmost.commands.clone.cli.serve",
    "hindmost.core.fleet",
    "hindmost.commands.clone.serving",
    "hindmost.core.run.request.elsewhere",
    "hindmost.commands.attribute.view",
    "hindmost.commands.host.view",
    "hindmost.commands.measure.view",
    "hindmost.commands.measure.view.junit",
    "hindmost.commands.clone.view.serving",
    "hindmost.commands.compare.view.targets",
    "hindmost.commands.attribute.kind",
    "hindmost.commands.compare.targets",
    "hindmost.commands.measure.kind",
    "hindmost.commands.measure.limits.failure",
    "hindmost.commands.measure.search.kind",
    "hindmost.commands.compare.clone.kind",
    "scipy.special",
)
"""Modules that commands import, loaded only once."""
PIPE_BYTES = 1 << 20
"""Capacity of a pipe. A test may wait for the end of a process before it reads more than the default 64 KiB."""


class ForkedProcess:
    """A process with the interface of `subprocess.Popen`, although its parent is the interpreter."""

    def __init__(self, pid: int, exit_pipe: IO[bytes], out: IO[str], err: IO[str]) -> None:
        self.pid = pid
        self.stdout, self.stderr = out, err
        self.returncode: int | None = None
        self._exit_pipe = exit_pipe
        self._readers: list[threading.Thread] = []
        self._output: dict[IO[str], str] = {}

    def poll(self) -> int | None:
        return self._await_exit(0.0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._await_exit(timeout)
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired("hindmost", timeout)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read all output and wait for the end; may be called again after a timeout."""
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
        return self._output[self.stdout], self._output[self.stderr]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _read(self, stream: IO[str]) -> None:
        with stream:
            self._output[stream] = stream.read()

    def _await_exit(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._exit_pipe], [], [], timeout)[0]:
            with self._exit_pipe:
                self.returncode = int(self._exit_pipe.read())
        return self.returncode


def fork(arguments: list[str], env: Mapping[str, str] | None = None) -> ForkedProcess:
    """`hindmost ARGUMENTS` in its own session."""
    request = {
        "arguments": arguments,
        "env": dict(os.environ if env is None else env),
        "folder": os.getcwd(),  # noqa: PTH109 (as text)
        "cpus": sorted(os.sched_getaffinity(0)),
    }
    pipes = [os.pipe() for _ in range(3)]
    for _, write in pipes[1:]:
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    channel = interpreter()
    socket.send_fds(channel, [json.dumps(request).encode()], [write for _, write in pipes])
    for _, write in pipes:
        os.close(write)
    exit_pipe, out, err = (read for read, _ in pipes)
    return ForkedProcess(int(channel.recv(100)), os.fdopen(exit_pipe, "rb"), os.fdopen(out), os.fdopen(err))


@cache
def interpreter() -> socket.socket:
    """Start the interpreter, which ends with this process; returns the socket to it."""
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
"""Kept, because Python warns of a running process that is garbage-collected."""


def serve(channel: socket.socket) -> dict[str, Any]:
    """Fork on each request and report each end, until the socket closes; returns the request in the child."""
    living: dict[int, tuple[int, int]] = {}
    while True:
        for ready in select.select([channel, *living], [], [])[0]:
            if ready in living:
                pid, exit_pipe = living.pop(ready)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with contextlib.suppress(BrokenPipeError):
                    os.write(exit_pipe, str(code).encode())
                os.close(exit_pipe)
                os.close(ready)
                continue
            text, files, *_ = socket.recv_fds(channel, 1 << 20, 3)
            if not text:
                sys.exit()
            pid = os.fork()
            if pid == 0:
                become_command(
                    files, [channel.detach(), *living, *(exit_pipe for _, exit_pipe in living.values())]
                )
                return dict(json.loads(text))
            living[os.pidfd_open(pid)] = (pid, files[0])
            for descriptor in files[1:]:
                os.close(descriptor)
            channel.send(str(pid).encode())


def become_command(files: list[int], inherited: list[int]) -> None:
    """Set up a process as a shell would start it, without the interpreter's descriptors."""
    os.setsid()
    _, out, err = files
    os.dup2(out, 1)
    os.dup2(err, 2)
    for descriptor in (*files, *inherited):
        os.close(descriptor)


def main(channel: socket.socket) -> int:
    sys.path[:1] = []  # the tests' own folder
    for name in PRELOADED:
        importlib.import_module(name)
    from hindmost.present.page import load_template

    load_template()  # which takes a third of a second
    gc.freeze()
    channel.send(b"loaded")
    request = serve(channel)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["folder"])
    os.sched_setaffinity(0, request["cpus"])
    sys.argv[1:] = request["arguments"]
    from hindmost.cli import main as hindmost

    return hindmost()


if __name__ == "__main__":
    sys.exit(main(socket.socket(fileno=int(sys.argv[1]))))
