"""Folders for temporary files, chosen without writing.

``tempfile.gettempdir`` tests each candidate by creating a file, which stays if ``kill -9`` comes before its
removal.
"""

from __future__ import annotations

import os
from pathlib import Path

_VARIABLES = ("TMPDIR", "TEMP", "TMP")
_USUAL = ("/tmp", "/var/tmp", "/dev/shm")


def candidates() -> list[Path]:
    """Return folders for temporary files, best first: those of the environment, then the usual ones."""
    named = [place for place in map(os.environ.get, _VARIABLES) if place]
    return [path for path in map(Path, dict.fromkeys([*named, *_USUAL])) if usable(path)]


def usable(path: Path) -> bool:
    """Whether this process may create files there."""
    return path.is_absolute() and path.is_dir() and os.access(path, os.W_OK | os.X_OK)


def folder() -> Path:
    """Return the best of them; ``/tmp`` if none is writable, so that its error says so."""
    return next(iter(candidates()), Path("/tmp"))
