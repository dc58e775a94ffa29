"""Percentiles of a slower server by several models of its queue, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def render_tail(document: Mapping[str, Any]) -> str:
    """Write what `hindmost.colocation.slower.grown` found."""
    names = [f"p{100 * level:g}" for level in document["levels"]]
    workers = document["workers"]
    lines = [
        f"{document['lost']:.0%} of the rate lost at load {document['load']:.0%}, "
        + ("one worker" if workers == 1 else f"one queue for {workers} workers")
        + f", service with a coefficient of variation of {document['cv']:.2f}: percentiles grow by",
        f"{'':<16} " + " ".join(f"{name:>8}" for name in names),
    ]
    for model, values in document["models"].items():
        cells = ("no end" if one is None else f"{one:.1%}" for one in values)
        lines.append(f"{model:<16} " + " ".join(f"{cell:>8}" for cell in cells))
    if document["block"] > 1:
        lines.append(f"requests know of each other over {document['block']} of them (regimes)")
    return "\n".join(lines) + "\n"
