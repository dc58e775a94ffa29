"""Ratios of a clone to its original at one load, with intervals and outcomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from msgspec.structs import replace

from hindmost.commands.clone.documents.predictions import Prediction
from hindmost.commands.compare.clone.costs import COST, CostRatios
from hindmost.commands.compare.documents.clone import Figure, Outcome, Ratio, VerifiedPoint
from hindmost.core.notes import Note, most_common
from hindmost.core.store.estimates import UNKNOWN, Value, bounds, to_value
from hindmost.core.store.measure import Measure, Run
from hindmost.stats import Equivalence, equivalence, positive_mean_interval
from hindmost.stats.runs.equivalence import RANKED

SERIES = ("original", "clone", "again")
"""The original, its clone, and the original with other requests of the same kind."""
MARGINS = {"mean": 0.05, "p95": 0.05, "p99": 0.08}
"""Margins of equivalence. TailWAG's errors over eight programs: 6.2, 1.9, 7.3 % (read as mean, p95, p99)."""
COST_MARGIN = 0.05
"""Margin of the cost of a request, relative to its cost when it was logged."""
LEAST_PAIRS = RANKED
"""Fewer pairs decide nothing: a few pairs with interference may agree by chance."""


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """One load: a share of the clone's capacity, and the rate that it means."""

    load: float
    rate_per_s: float

    @property
    def folder(self) -> str:
        """Folder of the load's series."""
        return f"{self.load:.4g}"


Runs = Mapping[str, Mapping[int, Run]]
"""Series to number of the pair to a run of ``hindmost.measure/2``."""


def counted_pairs(results: Mapping[str, Measure], excluded: Mapping[int, Note]) -> tuple[Runs, list[int]]:
    """Return the runs of the three results by pair, and the complete pairs that are not excluded."""
    runs = {name: {run.run: run for run in result.runs} for name, result in results.items()}
    return runs, [number for number in _complete_pairs(runs) if number not in excluded]


def _complete_pairs(runs: Runs) -> list[int]:
    return sorted(set.intersection(*(set(series) for series in runs.values())))


def compare_series(
    point: LoadPoint,
    results: Mapping[str, Measure],
    predicted: Prediction,
    excluded: Mapping[int, Note],
    draws: Mapping[int, Mapping[str, float]] | None = None,
    costs: CostRatios | None = None,
) -> VerifiedPoint:
    """Compare the results (``hindmost.measure/2``) of the three series at one load.

    Parameters
    ----------
    excluded : mapping
        Pairs that do not count, with the reasons.
    draws : mapping, optional
        By pair, the factor by which the draws of the clone's run increased each figure. It is divided out.
    costs : mapping, optional
        By pair, the factor by which the cost of requests increased each figure of the original. It is divided
        out in a separate ratio, ``as_logged``, if it is known for all pairs.
    """
    runs, counted = counted_pairs(results, excluded)
    known = costs if costs and counted and all(number in costs for number in counted) else None

    def column(series: str, name: str) -> list[float]:
        return [cast("float", runs[series][number].latency_us[name]) for number in counted]

    def cost(number: int, name: str) -> float:
        assert known is not None
        return math.sqrt(known[number]["original"][name] * known[number]["again"][name])

    def ratio(series: str, name: str, *, as_logged: bool = False) -> Ratio | None:
        a, b = column(series, name), column("original", name)
        if series == "clone":
            effects = [(draws or {}).get(number, {}).get(name, 1.0) for number in counted]
            a = [us / effect for us, effect in zip(a, effects, strict=True)]
            b = [math.sqrt(one * other) for one, other in zip(b, column("again", name), strict=True)]
        if as_logged:
            b = [us / cost(number, name) for us, number in zip(b, counted, strict=True)]
        if not a or not all(map(math.isfinite, a + b)):
            return None
        return _ratio(equivalence(a, b, MARGINS[name]))

    figures = {
        name: Figure(
            original_us=_summary(column("original", name)),
            clone_us=_summary(column("clone", name)),
            predicted_us=predicted.latency_us[name],
            clone=ratio("clone", name),
            as_logged=ratio("clone", name, as_logged=True) if known else None,
            floor=ratio("again", name),
        )
        for name in MARGINS
    }
    cost_ratio = None
    if known:
        values = [cost(number, COST) for number in counted]
        cost_ratio = _ratio(equivalence(values, [1.0] * len(counted), COST_MARGIN))
    whys = [excluded[number] for number in _complete_pairs(runs) if number in excluded]
    why = most_common(whys)
    return VerifiedPoint(
        load=point.load,
        rate_per_s=point.rate_per_s,
        requests=sum(runs["original"][number].counts.scheduled for number in counted),
        pairs=len(counted),
        left_out=len(whys),
        why=None if why is None else why.document(),
        cost=cost_ratio,
        figures=figures,
    )


def decide(points: Sequence[VerifiedPoint]) -> Outcome:
    """Return the verdict: different if any figure is, equivalent if all are."""
    outcomes = [
        "open" if figure.clone is None else figure.clone.outcome
        for point in points
        for figure in point.figures.values()
    ]
    if "different" in outcomes:
        return "different"
    return "equivalent" if outcomes and all(one == "equivalent" for one in outcomes) else "open"


def _summary(values: Sequence[float]) -> Value:
    if not values:
        return UNKNOWN
    if not all(map(math.isfinite, values)):
        return replace(UNKNOWN, value=math.inf)
    return to_value(positive_mean_interval(values))


def _ratio(one: Equivalence) -> Ratio:
    return Ratio(
        ratio=one.ratio,
        **bounds(one.low, one.high),
        margin=one.margin,
        pairs=one.pairs,
        outcome=one.outcome if one.pairs >= LEAST_PAIRS else "open",
    )
