"""Of what kind a study is, and the command that goes on with one: whatever fails in a study names it."""

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
"""Each kind's verb, before the study's folder. `hindmost.studies.kind` has what else there is to a kind."""


def name_of(manifest: Mapping[str, Any]) -> str:
    """The name of a study's kind; older manifests say it by what else they hold."""
    if "kind" in manifest:
        return str(manifest["kind"])
    return next((name for name in GO_ON if name in manifest), "measure")


def go_on(folder: Path, manifest: Mapping[str, Any]) -> str:
    """The command that goes on with a study; that of a kind from a later version can but be reported.

    Examples
    --------
    >>> go_on(Path("study"), {"kind": "attribution"})
    'hindmost attribute study'
    """
    return f"hindmost {GO_ON.get(name_of(manifest), 'study report')} {folder}"
