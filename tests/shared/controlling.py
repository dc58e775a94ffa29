"""Managed servers, a second Hindmost that controls one, and checks that their processes are gone."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from hindmost.core.targets import TargetSpec

PATIENCE_S = 60.0


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], failure: str | Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, failure if isinstance(failure, str) else failure()
        time.sleep(0.01)


def assert_gone(pids: Iterable[int]) -> None:
    for pid in pids:
        wait_until(partial(lambda gone: not is_running(gone), pid), f"process {pid} is still there")


CONTROLLER = """
import json, os, sys, time
from hindmost.core.targets import ManagedServer, TargetSpec
spec = TargetSpec.model_validate_json(sys.argv[1])
with ManagedServer(spec) as server:
    if "leak" in sys.argv and os.fork() == 0:
        time.sleep(60)  # keeps the control pipe open, as a forked helper of a library might
        os._exit(0)
    time.sleep(0.2)
    print(json.dumps({"pids": [server.guard_pid, *server.pids()], "folder": str(server.folder)}), flush=True)
    time.sleep(60)
"""


@contextmanager
def controller(spec: TargetSpec, *flags: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Another Hindmost that runs a server, started in its own session as a terminal would."""
    text = spec.model_dump_json(exclude_none=True, exclude_defaults=True)
    child = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, text, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    try:
        server = json.loads(child.stdout.readline())
        assert all(is_running(pid) for pid in server["pids"])
        yield child, server
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
