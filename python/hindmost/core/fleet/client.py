"""One client as a child process: its messages, its end, and that it never outlives us."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_PATIENCE_S = 3.0


class Client:
    """A running ``python -m hindmost.agent client``.

    Parameters
    ----------
    index : int
        Number of the client.
    plan : str
        Its engine plan, which is never written to disk.
    place : Path
        Folder for its files.
    cpus : sequence of int
        Where all its threads may run; its workers are pinned to some of them.
    counters : int, optional
        Descriptor of shared memory in which it counts.
    """

    def __init__(
        self, index: int, plan: str, place: Path, cpus: Sequence[int], counters: int | None = None
    ) -> None:
        self.index = index
        self._heard = b""
        self._errors = place / f"client-{index}.err"
        with self._errors.open("wb") as errors, os.fdopen(os.memfd_create("plan"), "wb") as memory:
            # The plan may contain passwords: in memory, it vanishes with its readers, and no one else can
            # read it.
            memory.write(plan.encode())
            memory.flush()
            command = [sys.executable, "-P", "-m", "hindmost.agent", "client"]
            passed = [memory.fileno(), *([] if counters is None else [counters])]
            plan_file, *counters_file = (f"/proc/self/fd/{descriptor}" for descriptor in passed)
            self._process = subprocess.Popen(
                [*command, plan_file, str(place), *counters_file],
                pass_fds=passed,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,  # we pass the terminal's Ctrl-C on
            )
        if cpus:
            with contextlib.suppress(OSError):  # it has ended; its exit status says why
                os.sched_setaffinity(self._process.pid, cpus)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def fileno(self) -> int:
        """Return the file descriptor to wait on for messages."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def tell(self, command: dict[str, Any]) -> None:
        """Send a command; a client that has ended is noticed when it is read."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()

    def hear(self) -> list[dict[str, Any]]:
        """Return all available events when `fileno` is readable. The client's end is the event ``ended``."""
        got = os.read(self.fileno(), 1 << 16)
        self._heard += got
        *lines, self._heard = self._heard.split(b"\n")
        events = []
        for line in lines:
            with contextlib.suppress(ValueError):
                events.append(json.loads(line))
        if not got:
            status = self._exit_status()
            ended = {"who": f"pid {self.pid}", "status": status, "words": self._last_words()}
            events.append({"event": "ended", **ended})
        return events

    def _exit_status(self) -> int:
        """Wait for its end; 0 means success."""
        try:
            return self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.stop()
            return self._process.wait()

    def _last_words(self) -> str:
        """Return its standard error."""
        try:
            return self._errors.read_text(errors="replace").strip()[-2000:]
        except OSError:
            return ""

    def sweep(self) -> None:
        """Remove files that only the client and we needed."""
        self._errors.unlink(missing_ok=True)

    def stop(self) -> None:
        """Close its input, which ends it; kill it if it does not react."""
        for stream in (self._process.stdin,):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
