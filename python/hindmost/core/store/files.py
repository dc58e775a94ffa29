"""Files that daemons read while Hindmost writes them: each version replaces the older one atomically."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hindmost.core.documents import write_whole
from hindmost.errors import HindmostError

MODES = {".sh": 0o755, ".secret": 0o600}


def install(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write texts by name; readers never see a partial file.

    Scripts (``.sh``) are executable, keys (``.secret``) are readable only by their owner.

    Raises
    ------
    HindmostError
        If the folder or a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(folder / name, text.encode(), MODES.get(Path(name).suffix, 0o644))
    except OSError as error:
        raise HindmostError(
            "unwritable-file",
            f"cannot write {error.filename or folder}: {error.strerror}",
            hint="choose a writable file or folder with --out",
            path=str(error.filename or folder),
        ) from None
    return [folder / name for name in texts]
