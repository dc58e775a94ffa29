"""Workload files: JSON that describes the requests, given by path or by name.

Named workloads are in ``workloads``: published mixes, each with its source in ``about``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hindmost.core.documents import read_json, read_text
from hindmost.core.names import nearest
from hindmost.core.plan.http import with_absolute_files
from hindmost.core.plan.positions import SourceText
from hindmost.core.plan.treadmill import from_treadmill
from hindmost.errors import UsageError, unreadable_file

_LARGEST_BYTES = 16 << 20
_EXAMPLE = '{"kind": "key-value", "keys": 10000, "get_ratio": 0.9, "value_bytes": 200}'
_FOR_READERS = ("about", "$schema")
"""Keys for readers, not for the engine."""
_NAMED = Path(__file__).parent / "workloads"


def named_workloads() -> dict[str, Path]:
    """Return every named workload with its file."""
    return {path.stem: path for path in sorted(_NAMED.glob("*.json"))}


def workload_file(workload: Path) -> Path:
    """Return the file of a ``--workload``: a path, or a name.

    Raises
    ------
    UsageError
        If it is neither.
    """
    named = named_workloads()
    if workload.exists() or workload.suffix or len(workload.parts) != 1:
        return workload
    if str(workload) in named:
        return named[str(workload)]
    raise UsageError(
        "unknown-name",
        f"--workload {workload} is neither a file nor a known workload{nearest(str(workload), named)}",
        hint=f"one of {', '.join(named)}, or a file like {_EXAMPLE}",
        option="--workload",
        name=str(workload),
        known=list(named),
    )


def load_workload(workload: Path) -> dict[str, Any]:
    """Read a workload file; the engine checks its fields when the plan is made.

    Raises
    ------
    UsageError
        If it cannot be read or is neither a JSON object nor one of Treadmill's files.
    """
    path = workload_file(workload)
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise UsageError(
                "bad-file",
                f"workload file {path} is larger than {_LARGEST_BYTES} bytes",
                hint=f"write it like {_EXAMPLE}",
                path=str(path),
                limit=_LARGEST_BYTES,
            )
        document = read_json(path)
    except OSError as error:
        raise unreadable_file(path, error, place="workload file ") from None
    except ValueError as error:
        raise UsageError(
            "bad-file",
            f"workload file {path} is not JSON: {error}",
            hint=f"write it like {_EXAMPLE}",
            path=str(path),
            line=getattr(error, "lineno", None),
        ) from None
    if isinstance(document, list) and document:
        return from_treadmill(document, path)
    if not isinstance(document, dict):
        raise UsageError(
            "bad-file",
            f"workload file {path} is not a JSON object",
            hint=f"write it like {_EXAMPLE}",
            path=str(path),
        )
    document = {key: value for key, value in document.items() if key not in _FOR_READERS}
    document.setdefault("kind", "key-value")
    if document["kind"] == "http":
        return with_absolute_files(document, path.parent)
    return document | _named_keys(document.get("key_names"), path)


def _named_keys(names: Any, path: Path) -> dict[str, Any]:  # noqa: ANN401 (any value of the file)
    """Count the key names; a file of names is relative to the workload file."""
    if isinstance(names, list):
        return {"keys": len(names)}
    if not isinstance(names, dict) or not isinstance(names.get("file"), str):
        return {}
    file = (path.parent / names["file"]).absolute()
    try:
        count = sum(1 for line in read_text(file).splitlines() if line)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UsageError(
            "unreadable-file" if file.exists() else "no-such-file",
            f"workload file {path}: key_names.file: cannot read {file}: {why}",
            hint="a text file with one key per line",
            key="key_names.file",
            path=str(file),
        ) from None
    return {"keys": count, "key_names": {"file": str(file)}}


def workload_source(workload: Path) -> tuple[str, SourceText]:
    """Return the name of a workload file in messages, and its text."""
    path = workload_file(workload)
    return f"workload file {path}", SourceText(read_text(path), toml=False, path=str(path))
