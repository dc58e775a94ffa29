"""Folders for temporary files, chosen without writing.

``tempfile.gettempdir`` tries each candidate by a file of its own, which stays where a ``kill -9`` comes
before it is removed.
"""

from __future__ import annotations

import os
from pathlib import Path

_VARIABLES = ("TMPDIR", "TEMP", "TMP")
_USUAL = ("/tmp", "/var/tmp", "/dev/shm")


def candidates() -> list[Path]:
    """Where temporary files may go, best first: what the environment names, then the usual places."""
    named = [place for place in map(os.environ.get, _VARIABLES) if place]
    return [path for path in map(Path, dict.fromkeys([*named, *_USUAL])) if usable(path)]


def usable(path: Path) -> bool:
    """Whether this process may make files there."""
    return path.is_absolute() and path.is_dir() and os.access(path, os.W_OK | os.X_OK)


def folder() -> Path:
    """The best of them; ``/tmp`` where none can be written, whose error then says so."""
    return next(iter(candidates()), Path("/tmp"))
