"""What pairs of runs say of a clone and its original: ratios, their intervals, and what follows from them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.stats import Equivalence, equivalence, mean_interval
from hindmost.stats.runs.equivalence import RANKED
from hindmost.store.predictions import Prediction
from hindmost.store.verification import Figure, Outcome, Ratio, Value, VerifiedPoint
from hindmost.studies.verification.costs import COST, Lateness

LOST = 0.005
"""Share of the time that others had the client's processor, above which a pair does not count: whoever had
it had the server's at other times. A kernel thread that wakes up now and then takes 0.3 % where it finds
both processors busy. A matter of the host alone, so that leaving it out favours neither server."""
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


def sound_pairs(results: Mapping[str, Mapping[str, Any]]) -> tuple[Runs, list[int]]:
    """The runs of three answers by their pairs; and those pairs that count."""
    runs = {who: {run["run"]: run for run in result["runs"]} for who, result in results.items()}
    pairs = sorted(set.intersection(*(set(of) for of in runs.values())))
    return runs, [n for n in pairs if not any(_spoiled(of[n]) for of in runs.values())]


def compared(
    point: Point,
    results: Mapping[str, Mapping[str, Any]],
    predicted: Prediction,
    luck: Mapping[int, Mapping[str, float]] | None = None,
    late: Lateness | None = None,
) -> VerifiedPoint:
    """Compare the answers (``hindmost.measure/1``) of the three series at one load.

    Pairs in which a run was invalid are left out, and those in which others had the client's processor for
    more than `LOST`. What a run of the clone owes to its draws is taken off where `luck` knows it; what those
    of the original owe to what their requests cost, where `late` does, in a ratio of its own.
    """
    runs, sound = sound_pairs(results)
    pairs = sorted(set.intersection(*(set(of) for of in runs.values())))
    fate = luck or {}
    known = late if late and sound and all(n in late for n in sound) else None

    def column(who: str, name: str) -> list[float]:
        values = (runs[who][n]["latency_us"][name] for n in sound)
        return [math.inf if value is None else value for value in values]

    def ratio(ours: str, name: str, owed: Lateness | None = None) -> Ratio | None:
        a, b = column(ours, name), column("original", name)
        if ours == "clone":
            a = [us / fate.get(n, {}).get(name, 1.0) for us, n in zip(a, sound, strict=True)]
            b = [math.sqrt(one * other) for one, other in zip(b, column("again", name), strict=True)]
        if owed is not None:
            b = [us / both(owed, n, name) for us, n in zip(b, sound, strict=True)]
        if not a or not all(map(math.isfinite, a + b)):
            return None
        return _written(equivalence(a, b, MARGINS[name]))

    def both(owed: Lateness, n: int, name: str) -> float:
        return math.sqrt(owed[n]["original"][name] * owed[n]["again"][name])

    def cost() -> Ratio | None:
        if known is None:
            return None
        return _written(equivalence([both(known, n, COST) for n in sound], [1.0] * len(sound), COST_MARGIN))

    def value(who: str, name: str) -> Value:
        values = column(who, name)
        if not values or not all(map(math.isfinite, values)):
            return {"value": None, "low": None, "high": None}
        one = mean_interval(values)
        return {
            "value": one.value,
            "low": one.low if one.known else None,
            "high": one.high if one.known else None,
        }

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
    return {
        "load": point.load,
        "rate_per_s": point.rate_per_s,
        "requests": sum(runs["original"][n]["counts"]["due"] for n in sound),
        "pairs": len(sound),
        "left_out": len(pairs) - len(sound),
        "why": _why(runs, [n for n in pairs if n not in sound]),
        "cost": cost(),
        "figures": figures,
    }


def _spoiled(run: Mapping[str, Any]) -> bool:
    return run["verdict"] == "invalid" or lost(run.get("instances", ())) > LOST


def lost(instances: Iterable[Mapping[str, Any]]) -> float:
    """Share of the time that others had a client's processor, at worst; of results or accounts."""
    threads = [thread for one in instances for thread in one.get("threads", [one])]
    return max((thread["run_delay_share"] or 0.0 for thread in threads), default=0.0)


def _why(runs: Runs, left_out: Sequence[int]) -> str | None:
    """What most often made a pair unusable, in the words of one run; None where all are sound."""
    found = [
        reason
        for n in left_out
        for of in runs.values()
        for reason in of[n]["reasons"]
        if reason["level"] == "invalid"
    ]
    if not found:
        most = max((lost(of[n].get("instances", ())) for n in left_out for of in runs.values()), default=0.0)
        return f"others had the client's processor for {most:.2%} of the time" if most > LOST else None
    often = Counter(reason["code"] for reason in found).most_common(1)[0][0]
    return str(next(reason["text"] for reason in found if reason["code"] == often))


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


def _written(one: Equivalence) -> Ratio:
    return {
        "ratio": one.ratio,
        "low": None if math.isnan(one.low) else one.low,
        "high": None if math.isnan(one.high) else one.high,
        "margin": one.margin,
        "pairs": one.pairs,
        "outcome": one.outcome if one.pairs >= LEAST_PAIRS else "open",
    }
