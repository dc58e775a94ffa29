"""Folders of a load host that last as long as its process; the next process removes those of killed ones."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

_OURS = re.compile(r"^hindmost-(?:load|dask)-(\d+)-")


def make_place(kind: str, folder: str | None) -> Path:
    """Create a folder in `folder` (default: for temporary files), with our process id in its name."""
    return Path(tempfile.mkdtemp(prefix=f"hindmost-{kind}-{os.getpid()}-", dir=folder))


def sweep(folder: str | None) -> None:
    """Remove the folders of processes that have ended."""
    for path in Path(folder or tempfile.gettempdir()).glob("hindmost-*"):
        match = _OURS.match(path.name)
        if match and not Path(f"/proc/{match[1]}").exists() and path.lstat().st_uid == os.getuid():
            shutil.rmtree(path, ignore_errors=True)
