"""A program in the way: it spins on the processor that a client wants for itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def disturber(cpu: int, folder: Path) -> Iterator[int]:
    """A busy loop of the name ``disturber`` on `cpu`; its process."""
    shell = shutil.which("sh")
    assert shell is not None
    program = folder / "disturber"
    program.symlink_to(shell)

    def there() -> None:
        os.sched_setaffinity(0, {cpu})

    busy = subprocess.Popen([program, "-c", "while :; do :; done"], preexec_fn=there)
    try:
        yield busy.pid
    finally:
        busy.kill()
        busy.wait()
