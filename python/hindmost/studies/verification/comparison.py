"""What pairs of runs say of a clone and its original: ratios, their intervals, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.notes import Note, most_common
from hindmost.stats import Equivalence, equivalence, positive_mean_interval
from hindmost.stats.runs.equivalence import RANKED
from hindmost.store.estimates import UNKNOWN, Value, bounds, to_value
from hindmost.store.predictions import Prediction
from hindmost.store.verification import Figure, Outcome, Ratio, VerifiedPoint
from hindmost.studies.verification.costs import COST, CostRatios

WHO = ("original", "clone", "again")
"""The series: the original, its clone, and the original with other requests of the same kind."""
MARGINS = {"mean": 0.05, "p95": 0.05, "p99": 0.08}
"""What counts as alike. TailWAG's errors over eight programs: 6.2, 1.9, 7.3 % (read as mean, p95, p99)."""
COST_MARGIN = 0.05
"""The same of what a request costs, over what it cost when it was logged."""
LEAST_PAIRS = RANKED
"""Below, nothing is decided: a few pairs that the host disturbed may agree by chance."""


@dataclass(frozen=True, slots=True)
class Point:
    """One load: its share of the capacity, and the rate that this is."""

    load: float
    rate_per_s: float

    @property
    def folder(self) -> str:
        """Where its studies lie."""
        return f"{self.load:.4g}"


Runs = Mapping[str, Mapping[int, Mapping[str, Any]]]
"""Series, then number of the pair, then a run of ``hindmost.measure/1``."""


def sound_pairs(
    results: Mapping[str, Mapping[str, Any]], unsound: Mapping[int, Note]
) -> tuple[Runs, list[int]]:
    """The runs of three answers by their pairs; and those pairs that count."""
    runs = {who: {run["run"]: run for run in result["runs"]} for who, result in results.items()}
    pairs = sorted(set.intersection(*(set(of) for of in runs.values())))
    return runs, [n for n in pairs if n not in unsound]


def compared(
    point: Point,
    results: Mapping[str, Mapping[str, Any]],
    predicted: Prediction,
    unsound: Mapping[int, Note],
    by_draws: Mapping[int, Mapping[str, float]] | None = None,
    by_cost: CostRatios | None = None,
) -> VerifiedPoint:
    """Compare the answers (``hindmost.measure/1``) of the three series at one load.

    Parameters
    ----------
    unsound : mapping
        Pairs that do not count, and why.
    by_draws : mapping, optional
        Of a pair, how much longer the draws of the clone's run made its figures: taken off.
    by_cost : mapping, optional
        Of a pair, how much longer the cost of requests made those of the original: taken off in a ratio of
        its own.
    """
    runs, sound = sound_pairs(results, unsound)
    pairs = sorted(set.intersection(*(set(of) for of in runs.values())))
    drawn = by_draws or {}
    known = by_cost if by_cost and sound and all(n in by_cost for n in sound) else None

    def column(who: str, name: str) -> list[float]:
        return [runs[who][n]["latency_us"][name] for n in sound]

    def ratio(ours: str, name: str, costs: CostRatios | None = None) -> Ratio | None:
        a, b = column(ours, name), column("original", name)
        if ours == "clone":
            a = [us / drawn.get(n, {}).get(name, 1.0) for us, n in zip(a, sound, strict=True)]
            b = [math.sqrt(one * other) for one, other in zip(b, column("again", name), strict=True)]
        if costs is not None:
            b = [us / both(costs, n, name) for us, n in zip(b, sound, strict=True)]
        if not a or not all(map(math.isfinite, a + b)):
            return None
        return _ratio(equivalence(a, b, MARGINS[name]))

    def both(costs: CostRatios, n: int, name: str) -> float:
        return math.sqrt(costs[n]["original"][name] * costs[n]["again"][name])

    def cost() -> Ratio | None:
        if known is None:
            return None
        return _ratio(equivalence([both(known, n, COST) for n in sound], [1.0] * len(sound), COST_MARGIN))

    def value(who: str, name: str) -> Value:
        values = column(who, name)
        if not values:
            return UNKNOWN
        if not all(map(math.isfinite, values)):
            return {**UNKNOWN, "value": math.inf}
        return to_value(positive_mean_interval(values))

    figures: dict[str, Figure] = {
        name: {
            "original_us": value("original", name),
            "clone_us": value("clone", name),
            "predicted_us": predicted["latency_us"][name],
            "clone": ratio("clone", name),
            "as_logged": ratio("clone", name, known) if known else None,
            "floor": ratio("again", name),
        }
        for name in MARGINS
    }
    why = most_common([unsound[n] for n in pairs if n in unsound])
    return {
        "load": point.load,
        "rate_per_s": point.rate_per_s,
        "requests": sum(runs["original"][n]["counts"]["due"] for n in sound),
        "pairs": len(sound),
        "left_out": len(pairs) - len(sound),
        "why": None if why is None else why.document(),
        "cost": cost(),
        "figures": figures,
    }


def verdict_of(points: Sequence[VerifiedPoint]) -> Outcome:
    """Different where any figure is; equivalent where all are."""
    outcomes = [
        "open" if figure["clone"] is None else figure["clone"]["outcome"]
        for point in points
        for figure in point["figures"].values()
    ]
    if "different" in outcomes:
        return "different"
    return "equivalent" if outcomes and all(one == "equivalent" for one in outcomes) else "open"


def _ratio(one: Equivalence) -> Ratio:
    return {
        "ratio": one.ratio,
        **bounds(one.low, one.high),
        "margin": one.margin,
        "pairs": one.pairs,
        "outcome": one.outcome if one.pairs >= LEAST_PAIRS else "open",
    }
