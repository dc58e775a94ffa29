"""A competing process that spins on the client's CPU."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def run_disturber(cpu: int, folder: Path) -> Iterator[int]:
    """Run a busy loop named ``run_disturber`` on `cpu`; yields its pid."""
    shell = shutil.which("sh")
    assert shell is not None
    program = folder / "disturber"
    program.symlink_to(shell)

    def pin() -> None:
        os.sched_setaffinity(0, {cpu})

    busy = subprocess.Popen([program, "-c", "while :; do :; done"], preexec_fn=pin)
    try:
        yield busy.pid
    finally:
        busy.kill()
        busy.wait()
