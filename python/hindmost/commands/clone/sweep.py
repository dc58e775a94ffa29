"""Sweeps: many designs of one clone under many loads, all with the same requests (common random numbers)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from hindmost.commands.clone.batch import Elsewhere, predictions
from hindmost.commands.clone.document import Clone, load_clone
from hindmost.commands.clone.documents.predictions import InverseAnswer, Sweep, SweepPoint
from hindmost.commands.clone.parameters import Value, Vary, changes
from hindmost.commands.clone.simulation import Design
from hindmost.core.frames import frame
from hindmost.errors import UsageError

SCHEMA = "hindmost.sweep/1"
MOST_POINTS = 100_000
Load = Mapping[str, float]
"""``{"rate_per_s": 5000.0}`` or ``{"utilisation": 0.7}``."""


class Swept(dict[str, Any]):
    """The document of a sweep (``hindmost.sweep/1``), which converts to a table.

    Examples
    --------
    >>> from hindmost.commands.clone.document import load_clone
    >>> found = sweep(load_clone("silo"), [], [{"utilisation": 0.5}], design=Design(requests=5_000))
    >>> list(found["points"][0]["latency_us"]) == ["mean", "p50", "p95", "p99", "p99.9"]
    True
    """

    @property
    def typed(self) -> Sweep:
        """The same document with its static type."""
        return cast(Sweep, self)

    def to_frame(self, library: Literal["polars", "pandas", "rows"] | None = None) -> Any:  # noqa: ANN401 (of either)
        """Return a DataFrame with a row per design point, a column per parameter, and times in us.

        Parameters
        ----------
        library : {"polars", "pandas", "rows"}, optional
            Which library; by default, the installed one, with polars first. ``rows`` is a list of
            dictionaries.

        Raises
        ------
        UsageError
            Neither is installed.
        """
        return frame([_table_row(point) for point in self.typed["points"]], library)


def _table_row(point: SweepPoint) -> dict[str, Any]:
    row: dict[str, Any] = {"design": point["design"], **point["set"]}
    for name in ("state", "rate_per_s", "load", "capacity_per_s", "busy_share"):
        row[name] = point.get(name)
    for name, one in point.get("latency_us", {}).items():
        row |= {f"{name}_us": one["value"], f"{name}_low_us": one["low"], f"{name}_high_us": one["high"]}
    return row


def settings(varied: Sequence[Vary], *, together: bool = False) -> list[dict[str, Value]]:
    """Return all designs: every combination of values, or, if `together`, the i-th values of all parameters.

    With `together`, a parameter with one value has it in every design.

    Raises
    ------
    UsageError
        A parameter is given twice, or lists used together differ in length.

    Examples
    --------
    >>> settings([Vary("threads", (1, 2)), Vary("load.time", (0.0, 0.5))], together=True)
    [{'threads': 1, 'load.time': 0.0}, {'threads': 2, 'load.time': 0.5}]
    """
    paths = [one.path for one in varied]
    for path in paths:
        if paths.count(path) > 1:
            raise UsageError(
                "duplicate-name",
                f"--vary {path} is given twice",
                hint=f"--vary {path}=VALUE,VALUE,...",
                option="--vary",
                name=path,
            )
    most = max((len(one.values) for one in varied), default=0)
    if together and any(len(one.values) not in (1, most) for one in varied):
        lengths = ", ".join(f"{one.path} has {len(one.values)}" for one in varied)
        raise UsageError(
            "uneven-lists",
            f"with --together, all parameters need the same number of values: {lengths}",
            hint="leave out --together",
            option="--together",
            value={one.path: len(one.values) for one in varied},
        )
    if not varied:
        return [{}]
    rows = zip(*(one.values * (most // len(one.values)) for one in varied), strict=True) if together else None
    return [
        dict(zip(paths, values, strict=True))
        for values in rows or itertools.product(*(one.values for one in varied))
    ]


def count_designs(varied: Sequence[Vary], *, together: bool = False) -> int:
    """Count designs without creating them, because millions are easily requested by accident."""
    counts = [len(one.values) for one in varied]
    return max(counts, default=1) if together else math.prod(counts)


def sweep(
    clone: Clone | str | Path,
    varied: Sequence[Vary],
    loads: Sequence[Load],
    *,
    together: bool = False,
    design: Design | None = None,
    progress: Callable[[int], None] | None = None,
    elsewhere: Elsewhere | None = None,
) -> Swept:
    """Predict the latency of all designs under all loads.

    Parameters
    ----------
    clone
        A clone, or a source for `load_clone`.
    varied
        Parameters and their values; without any, the unchanged clone.
    loads
        Rates, or shares of each design's own capacity. Points above the capacity are marked, not run.
    together
        See `settings`.
    progress
        Called occasionally with the number of finished points.
    elsewhere : optional
        Runs the simulations on other machines.

    Raises
    ------
    UsageError
        A parameter is unknown, a value is invalid, or there are more than 100,000 points.
    """
    clone = clone if isinstance(clone, Clone) else load_clone(clone)
    design = design or Design(requests=100_000)
    count = count_designs(varied, together=together)
    if count * len(loads) > MOST_POINTS:
        raise UsageError(
            "too-many-points",
            f"{count:,} designs under {len(loads):,} loads make {count * len(loads):,} points;"
            f" a sweep has at most {MOST_POINTS:,}",
            hint="fewer values, or --together",
            value=count * len(loads),
            most=MOST_POINTS,
        )
    designs = settings(varied, together=together)
    changed = [changes(clone.document, one) for one in designs]
    points = [{"set": change, "load": dict(load)} for change in changed for load in loads]
    predicted = predictions(clone, points, design, progress, elsewhere)
    numbered = [(number, one) for number, one in enumerate(designs) for _ in loads]
    rows = [
        cast(SweepPoint, {"design": number, "set": one, **prediction})
        for (number, one), prediction in zip(numbered, predicted, strict=True)
    ]
    document: Sweep = {
        "schema": "hindmost.sweep/1",
        "clone": clone.name,
        "document": clone.document,
        "requests": design.requests,
        "seed": design.seed,
        "arrivals": design.arrivals if isinstance(design.arrivals, str | dict) else "trace",
        "together": together,
        "vary": [{"path": one.path, "values": list(one.values)} for one in varied],
        "points": rows,
        "found": [],
    }
    return Swept(document)


def with_answers(document: Mapping[str, Any], found: Sequence[InverseAnswer]) -> Swept:
    """Add answers to inverse questions."""
    return Swept({**document, "found": list(found)})
