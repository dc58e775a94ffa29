"""Percentiles of a slower server by several models of its queue."""

from __future__ import annotations

from hindmost.commands.colocate.prediction.growth import TailGrowth
from hindmost.commands.colocate.view.wording import percent
from hindmost.present.blocks import Block, Cell, Table, Text, View


def view_tail(doc: TailGrowth) -> View:
    """Show the growth of each percentile by each model."""
    workers = "one worker" if doc.workers == 1 else f"one queue for {doc.workers} workers"
    rows = []
    for model, values in doc.models.items():
        intervals = doc.intervals.get(model, [None] * len(values))
        rows.append([model, *(_cell(*one) for one in zip(values, intervals, strict=True))])
    blocks: list[Block] = [Table(["", *(f"p{100 * level:g}" for level in doc.levels)], rows)]
    if doc.block > 1:
        blocks.append(Text(f"Service times are correlated over {doc.block} requests (regimes)."))
    return View(
        title="Growth of percentiles",
        headline=f"{percent(doc.lost, 0)} of the rate lost at a load of {percent(doc.load, 0)}, {workers},"
        f" service with a coefficient of variation of {doc.cv:.2f}: percentiles grow by",
        blocks=blocks,
    )


def _cell(value: float | None, interval: list[float] | None) -> str | Cell:
    if value is None:
        return "unbounded"
    ends = "" if interval is None else f"[{percent(interval[0])}, {percent(interval[1])}]"
    return Cell(percent(value), detail=ends)
