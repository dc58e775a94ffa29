"""Many designs of one clone under many loads, which all meet the same requests (common random numbers)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from hindmost.errors import UsageError
from hindmost.models.document import Clone
from hindmost.models.parameters import Value, Vary, changes
from hindmost.models.simulation import Design, run_points
from hindmost.store.predictions import Found, Sweep, SweepPoint

SCHEMA = "hindmost.sweep/1"
MOST_POINTS = 100_000
Load = Mapping[str, float]
"""``{"rate_per_s": 5000.0}`` or ``{"utilisation": 0.7}``."""


def settings(varied: Sequence[Vary], *, together: bool = False) -> list[dict[str, Value]]:
    """All designs: every combination of values, or, together, the first of each, the second of each, ...

    Together, a parameter with one value has it in every design.

    Raises
    ------
    UsageError
        A parameter stands there twice, or lists that go together are not of one length.

    Examples
    --------
    >>> settings([Vary("threads", (1, 2)), Vary("load.time", (0.0, 0.5))], together=True)
    [{'threads': 1, 'load.time': 0.0}, {'threads': 2, 'load.time': 0.5}]
    """
    paths = [one.path for one in varied]
    for path in paths:
        if paths.count(path) > 1:
            raise UsageError(f"{path} is varied twice", hint=f"--vary {path}=VALUE,VALUE,...")
    most = max((len(one.values) for one in varied), default=0)
    if together and any(len(one.values) not in (1, most) for one in varied):
        lengths = ", ".join(f"{one.path} has {len(one.values)}" for one in varied)
        raise UsageError(
            f"parameters that vary together need as many values each: {lengths}", hint="leave out --together"
        )
    if not varied:
        return [{}]
    rows = zip(*(one.values * (most // len(one.values)) for one in varied), strict=True) if together else None
    return [
        dict(zip(paths, values, strict=True))
        for values in rows or itertools.product(*(one.values for one in varied))
    ]


def sweep(
    clone: Clone,
    varied: Sequence[Vary],
    loads: Sequence[Load],
    *,
    together: bool = False,
    design: Design | None = None,
    progress: Callable[[int], None] | None = None,
) -> Sweep:
    """Predict the latency of all designs under all loads.

    Parameters
    ----------
    varied
        Parameters and their values; without any, the clone as it is.
    loads
        Rates, or shares of each design's own capacity. Points above the capacity are marked, not run.
    together
        See `settings`.
    progress
        Is told now and then how many points are done.

    Raises
    ------
    UsageError
        A parameter is unknown, a value makes no sense, or there are more than 100,000 points.
    """
    design = design or Design(requests=100_000)
    designs = settings(varied, together=together)
    if len(designs) * len(loads) > MOST_POINTS:
        raise UsageError(
            f"{len(designs):,} designs under {len(loads):,} loads are {len(designs) * len(loads):,} points;"
            f" at most {MOST_POINTS:,} are swept at once",
            hint="fewer values, or --together",
        )
    changed = [changes(clone.document, one) for one in designs]
    points = [{"set": change, "load": dict(load)} for change in changed for load in loads]
    outcomes = run_points(clone, points, design, progress)
    numbered = [(number, one) for number, one in enumerate(designs) for _ in loads]
    rows = [
        cast(SweepPoint, {"design": number, "set": one, **outcome.prediction})
        for (number, one), outcome in zip(numbered, outcomes, strict=True)
    ]
    return {
        "schema": "hindmost.sweep/1",
        "clone": clone.name,
        "document": clone.document,
        "requests": design.requests,
        "seed": design.seed,
        "arrivals": design.arrivals if isinstance(design.arrivals, str) else "trace",
        "together": together,
        "vary": [{"path": one.path, "values": list(one.values)} for one in varied],
        "points": rows,
        "found": [],
    }


def with_found(document: Sweep, found: Sequence[Found]) -> Sweep:
    """Add answers of inverse questions."""
    return cast(Sweep, {**cast("dict[str, Any]", document), "found": list(found)})
