"""How much work an application has: load is a cause only where there is more of it than normally."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from hindmost.documents import read_kernel
from hindmost.targets.procfs import process_tree

GREW = 1.25
"""Times the normal work: less is not what made it slow; caches that a neighbour empties cost that much."""


class Work:
    """Processors that an application uses, from one look to the next."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ran, self._at = self._look()

    def _look(self) -> tuple[float, float]:
        ran_ns = 0
        for pid in process_tree(self._pid):
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    with contextlib.suppress(OSError, IndexError):
                        ran_ns += int(read_kernel(task / "schedstat").split()[0])
        return ran_ns / 1e9, time.monotonic()

    def processors(self) -> float:
        """Since the last look: seconds of processor a second; threads that ended meanwhile do not count."""
        before, then = self._ran, self._at
        self._ran, self._at = self._look()
        return max(0.0, self._ran - before) / max(self._at - then, 1e-9)
