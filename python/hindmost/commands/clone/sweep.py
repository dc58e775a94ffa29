"""Sweeps: many designs of one clone under many loads, all with the same requests (common random numbers)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from hindmost.commands.clone.batch import Elsewhere, predictions
from hindmost.commands.clone.document import Clone, load_clone
from hindmost.commands.clone.documents.predictions import Sweep, SweepPoint, VariedParameter
from hindmost.commands.clone.parameters import Value, Vary, changes
from hindmost.commands.clone.simulation import Design
from hindmost.errors import UsageError

MOST_POINTS = 100_000
Load = Mapping[str, float]
"""``{"rate_per_s": 5000.0}`` or ``{"utilisation": 0.7}``."""


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
) -> Sweep:
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
    return Sweep(
        schema="hindmost.sweep/1",
        clone=clone.name,
        document=clone.document,
        requests=design.requests,
        seed=design.seed,
        arrivals=design.law,
        together=together,
        vary=[VariedParameter(path=one.path, values=list(one.values)) for one in varied],
        points=[
            SweepPoint(design=number, set=one, **msgspec.structs.asdict(prediction))
            for (number, one), prediction in zip(numbered, predicted, strict=True)
        ],
        found=[],
    )
