"""Kinds of studies, and the command that resumes each: every failure in a study names it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

GO_ON = {
    "measure": "measure --resume",
    "search": "measure --resume",
    "attribution": "attribute",
    "verification": "compare",
    "comparison": "compare",
    "batching": "compare",
    "trial": "compare",
    "explain": "explain",
}
"""The command of each kind, before the study's folder. `hindmost.core.study.kind` has the rest of a kind."""


def name_of(manifest: Mapping[str, Any]) -> str:
    """Return the name of a study's kind; older manifests imply it by their other keys."""
    if "kind" in manifest:
        return str(manifest["kind"])
    return next((name for name in GO_ON if name in manifest), "measure")


def go_on(folder: Path, manifest: Mapping[str, Any]) -> str:
    """Return the command that resumes a study; for a kind of a later version, the command that reports it.

    Examples
    --------
    >>> go_on(Path("study"), {"kind": "attribution"})
    'hindmost attribute study'
    """
    return f"hindmost {GO_ON.get(name_of(manifest), 'study report')} {folder}"
