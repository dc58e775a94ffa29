"""Percentiles of a slower server by several models of its queue, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def render_tail(document: Mapping[str, Any]) -> str:
    """Render the result of `hindmost.commands.colocate.prediction.growth.predict_growth`."""
    names = [f"p{100 * level:g}" for level in document["levels"]]
    workers = document["workers"]
    lines = [
        f"{document['lost']:.0%} of the rate lost at a load of {document['load']:.0%}, "
        + ("one worker" if workers == 1 else f"one queue for {workers} workers")
        + f", service with a coefficient of variation of {document['cv']:.2f}: percentiles grow by",
        f"{'':<16} " + " ".join(f"{name:>24}" for name in names),
    ]
    for model, values in document["models"].items():
        intervals = document["intervals"].get(model, [None] * len(values))
        cells = (_cell(*one) for one in zip(values, intervals, strict=True))
        lines.append(f"{model:<16} " + " ".join(f"{cell:>24}" for cell in cells))
    if document["block"] > 1:
        lines.append(f"service times are correlated over {document['block']} requests (regimes)")
    return "\n".join(lines) + "\n"


def _cell(value: float | None, interval: tuple[float, float] | None) -> str:
    if value is None:
        return "unbounded"
    return f"{value:.1%}" if interval is None else f"{value:.1%} [{interval[0]:.1%}, {interval[1]:.1%}]"
