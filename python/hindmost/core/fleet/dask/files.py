"""Files named by a plan (traces, bodies, data tables, certificates) are sent to load hosts with it.

A host cannot read the controller's files. Each file is sent once per run and host, and the plan of a client
there names the host's copy.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hindmost.core.documents import read_bytes
from hindmost.errors import UsageError

KEYS = frozenset({"file", "template", "ca", "certificate", "key"})
"""Keys of a plan that name a file if their value is an absolute path."""
MOST_BYTES = 64 << 20
PREFIX = "given-"
"""Prefix of their names on a host; files with it are not fetched."""


def pack_files(plans: list[str]) -> dict[str, str]:
    """Return all files that plans name, in base64.

    Raises
    ------
    UsageError
        If they cannot be read, or are too large to be sent for each run.
    """
    contents: dict[str, str] = {}
    size = 0
    for path in {path for plan in plans for path in _find_files(json.loads(plan))}:
        try:
            content = read_bytes(Path(path))
        except OSError as error:
            raise UsageError(
                "unreadable-file",
                f"{path} cannot be sent to load hosts: {error.strerror}",
                hint=f"ls -l {path}",
                path=path,
            ) from None
        size += len(content)
        if size > MOST_BYTES:
            raise UsageError(
                "bad-file",
                f"the files of this plan, {path} and others, have more than {MOST_BYTES >> 20} MiB, and each"
                " run sends them to each host",
                hint="use smaller files",
                path=path,
                value=size,
                most=MOST_BYTES,
                unit="bytes",
            )
        contents[path] = base64.b64encode(content).decode()
    return contents


def unpack_files(plan: str, files: dict[str, str], folder: Path) -> str:
    """Write files into a host's folder; return the plan with their names there."""
    copies = {}
    for number, (path, content) in enumerate(sorted(files.items())):
        own = folder / f"{PREFIX}{number}{Path(path).suffix}"
        if not own.exists():
            own.touch(mode=0o600)
            own.write_bytes(base64.b64decode(content))
        copies[path] = str(own)
    return json.dumps(_map_files(json.loads(plan), lambda path: copies.get(path, path)))


def _find_files(part: Any) -> Iterator[str]:  # noqa: ANN401 (any JSON)
    if isinstance(part, dict):
        for key, value in part.items():
            if key in KEYS and isinstance(value, str) and value.startswith("/") and Path(value).is_file():
                yield value
            else:
                yield from _find_files(value)
    elif isinstance(part, list):
        for value in part:
            yield from _find_files(value)


def _map_files(part: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 (any JSON)
    if isinstance(part, dict):
        return {
            key: change(value) if key in KEYS and isinstance(value, str) else _map_files(value, change)
            for key, value in part.items()
        }
    return [_map_files(value, change) for value in part] if isinstance(part, list) else part
