"""A file that another process writes and that is reloaded when it changes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from hindmost.errors import UsageError

Kept = TypeVar("Kept")


class WatchedFile(Generic[Kept]):
    """A file or a folder of files that is reloaded when it changes.

    If it cannot be read, the last good content stays.
    """

    def __init__(self, path: Path, read: Callable[[Path], Kept]) -> None:
        self.path, self.read = path, read
        self.seen = self._mark()
        self.content = read(path)
        self.unreadable = 0

    def now(self) -> Kept:
        """Return the current content."""
        mark = self._mark()
        if mark != self.seen:
            self.seen = mark
            try:
                self.content = self.read(self.path)
            except UsageError:
                self.unreadable += 1
        return self.content

    def _mark(self) -> list[tuple[int, int, int]]:
        """Return what changes when the file, or one in the folder, is written or replaced."""
        marks = []
        with contextlib.suppress(OSError):
            paths = [self.path, *(sorted(self.path.iterdir()) if self.path.is_dir() else ())]
            for found in (path.stat() for path in paths):
                marks.append((found.st_mtime_ns, found.st_size, found.st_ino))
        return marks
