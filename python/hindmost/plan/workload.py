"""Workload files: JSON that says what is asked for (``schemas/plan.schema.json``, `Workload`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.plan.positions import Written

_LARGEST_BYTES = 1 << 20
_EXAMPLE = '{"kind": "key-value", "keys": 10000, "get_ratio": 0.9, "value_bytes": 200}'


def load_workload(path: Path) -> dict[str, Any]:
    """Read a workload file; the engine checks its fields when the plan is made.

    Raises
    ------
    UsageError
        If it cannot be read or is not a JSON object.
    """
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise UsageError(
                f"workload file {path} is larger than {_LARGEST_BYTES} bytes: not a workload file",
                hint=f"write it like {_EXAMPLE}",
            )
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"workload file {path} cannot be read: {error.strerror}", hint=f"ls -l {path}"
        ) from None
    except ValueError as error:
        raise UsageError(
            f"workload file {path} is not JSON: {error}", hint=f"write it like {_EXAMPLE}"
        ) from None
    if not isinstance(document, dict):
        raise UsageError(f"workload file {path} holds no JSON object", hint=f"write it like {_EXAMPLE}")
    document.setdefault("kind", "key-value")
    return document


def written_workload(path: Path) -> tuple[str, Written]:
    """What messages call a workload file that was read, and its text."""
    return f"workload file {path}", Written(path.read_text(encoding="utf-8"), toml=False)
