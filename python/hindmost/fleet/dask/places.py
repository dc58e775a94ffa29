"""Folders of a load host for what lasts as long as its process; the next one sweeps up after a killed one."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

_OURS = re.compile(r"^hindmost-(?:load|dask)-(\d+)-")


def make_place(kind: str, folder: str | None) -> Path:
    """A fresh folder in `folder` (default: the system's for temporary files), named by our process."""
    return Path(tempfile.mkdtemp(prefix=f"hindmost-{kind}-{os.getpid()}-", dir=folder))


def sweep(folder: str | None) -> None:
    """Remove what processes left there that are no more."""
    for path in Path(folder or tempfile.gettempdir()).glob("hindmost-*"):
        found = _OURS.match(path.name)
        if found and not Path(f"/proc/{found[1]}").exists() and path.lstat().st_uid == os.getuid():
            shutil.rmtree(path, ignore_errors=True)
