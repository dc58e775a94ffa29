"""A memcached with one thread, as a separate process of the test."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hindmost.core.targets.ports import pick_free_port


@contextmanager
def plain_memcached() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start memcached; yields its address and process once it listens."""
    port = pick_free_port("127.0.0.1")
    process = subprocess.Popen(["memcached", "-u", "nobody", "-t", "1", "-l", "127.0.0.1", "-p", str(port)])
    try:
        deadline = time.monotonic() + 20
        while not Path(f"/proc/{process.pid}/net/tcp").read_text().count(f":{port:04X} 00000000:0000"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield f"memcached://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.wait()
