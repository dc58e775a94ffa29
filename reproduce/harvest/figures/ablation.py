"""The value of each rule of placement: losses and copies, by pattern of reimages and speed of repairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reproduce.harvest.document import Series
from reproduce.harvest.figures.result import FigureResult, entry, series, spread
from reproduce.harvest.sweeps import Query, Sweep, point

POLICIES = {
    "stock": "stock",
    "racks": "three racks",
    "environments": "environments apart",
    "grid": "grid, strict",
    "cost": "grid, cost-aware",
}
BLOCKS_PER_SERVER = 100


def waves(sweep: Sweep) -> FigureResult:
    """Vary the duration of a wave of reimages."""
    return _map(sweep, "wave width, hours", (0.25, 2.0, 12.0, 48.0), lambda x: ({"wave_hours": x}, {}))


def correlation(sweep: Sweep) -> FigureResult:
    """Vary the fraction of reimages that come in waves."""
    return _map(
        sweep, "share of reimages in waves", (0.1, 0.3, 0.5, 0.7, 0.9), lambda x: ({"wave_share": x}, {})
    )


def repair_rate(sweep: Sweep) -> FigureResult:
    """Vary the rate of repairs, with more data than elsewhere, because a fast cluster hides the effect."""
    return _map(
        sweep, "copies per hour and server", (3.0, 10.0, 30.0, 100.0), lambda x: ({}, {"copies_per_hour": x})
    )


def _map(
    sweep: Sweep,
    what: str,
    values: Sequence[float],
    change: Callable[[float], tuple[dict[str, float], dict[str, float]]],
) -> FigureResult:
    blocks = BLOCKS_PER_SERVER * sweep.servers
    keys = [(policy, x) for policy in POLICIES for x in values]
    asked = []
    for policy, x in keys:
        center, settings = change(x)
        asked.append(Query("durability", 9, {"policy": policy, "blocks": blocks, **settings}, center))
    found: dict[tuple[str, float], list[Mapping[str, float]]] = dict(zip(keys, sweep.run(asked), strict=True))

    def lines(name: str, scale: float = 1.0) -> list[Series]:
        return [
            series(title, [point(x, (one[name] * scale for one in found[policy, x])) for x in values])
            for policy, title in POLICIES.items()
        ]

    said = []
    for x in (values[0], values[-1]):
        at = [
            f"{title} {point(x, (one['exact_per_block_year'] for one in found[policy, x]))['mean']:.1e}"
            f" / {spread(point(x, (one['blocks'] for one in found[policy, x])), '.0f')}"
            f" / {point(x, (one['copied_per_year'] for one in found[policy, x]))['mean']:.2f}"
            for policy, title in POLICIES.items()
        ]
        said.append(f"at {x:g}: " + ", ".join(at))
    ours = f"exact rate per block and year / lost of {blocks:,} / copied per byte and year: " + "; ".join(
        said
    )
    curves = [
        (f"Exact loss of a block in a year over {what}", "rate per block and year", "exact_per_block_year"),
        (f"Bytes copied per year and byte stored over {what}", "bytes a byte", "copied_per_year"),
    ]
    return FigureResult(
        entry(f"ablation: {what}", "not in the chapter", ours, "new"),
        [
            {"figure": "ablation", "title": title, "x": what, "y": y, "log": True, "series": lines(name)}
            for title, y, name in curves
        ],
    )
