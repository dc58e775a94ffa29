"""Calm latency in the answer: run by run, and over runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from hindmost.plan import MeasurePlan
from hindmost.run.calm import Refusal, RunCalm, find_refusal
from hindmost.run.figures import RunFigures, Values
from hindmost.run.text import percent
from hindmost.run.verdict import Reason, overall
from hindmost.stats import Estimate
from hindmost.stats import over_runs as mean_or_median
from hindmost.stats.requests.calm import SURE
from hindmost.stats.tables import binomial_bounds
from hindmost.store import measure as documents
from hindmost.store.estimates import Value, number, to_value
from hindmost.studies.measure.words import figure

FROM_INTERFERENCE = (
    "steal-time",
    "noisy-host",
    "run-delay",
    "context-switches",
    "interrupts",
    "late-sends",
    "wide-intervals",
    "excluded-runs",
)
"""Reasons against latency that do not hold against isolated latency. Late sends count against the quantiles
that are late without interference, too."""

MOST_UNKNOWN = 0.1
"""Share of runs that may lack a percentile: those that lack it are those that were disturbed most."""
Estimator = Callable[[Sequence[Values], Sequence[Reason]], documents.Estimates]


def over_runs(
    runs: Sequence[RunFigures], reasons: Sequence[Reason], estimates: Estimator, plan: MeasurePlan
) -> documents.Calm | None:
    """What all runs say together; null where no run looked for thefts.

    Parameters
    ----------
    runs : sequence of RunFigures
        At least one; those that are set aside for what was stolen from them, too.
    reasons : sequence of Reason
        Of the verdict on the latency itself.
    estimates : callable
        How values of runs become estimates: the same as for latency.
    plan : MeasurePlan
        Whose precision each percentile must reach.
    """
    looked = [run.calm for run in runs if run.calm is not None]
    if not looked:
        return None
    good = [calm for calm in looked if calm.refused is None]
    why = find_refusal(good) if good else _commonest(looked)
    others = list(reasons)
    if any(one.thefts for one in looked):
        said = [name for one in good for name in one.late]
        late = tuple(name for name in dict.fromkeys(said) if 2 * said.count(name) > len(good))
        others = [reason for reason in reasons if reason.code not in FROM_INTERFERENCE]
        others += [replace(reason, labels=late) for reason in reasons if reason.code == "late-sends" and late]
    shown = good if why is None else []
    values = _known([one.values for one in shown])
    if not plan.quick and (wide := _wide(values, plan)):
        others.append(Reason("wide-intervals", "inconclusive", "", labels=wide))
    return {
        "latency_us": estimates(values, others) if shown else {},
        "verdict": overall(others) if shown else "inconclusive",
        "runs": len(good),
        "of": len(runs),
        "taken_share": _mean([one.taken for one in looked]),
        "counted_share": _mean([one.counted for one in good]),
        "thefts": sum(one.thefts for one in looked),
        "seen_us": max((one.seen_us for one in looked if math.isfinite(one.seen_us)), default=None),
        "sources": list(dict.fromkeys(source for one in looked for source in one.sources)),
        "unsettled": _unsettled(shown),
        "refused": refusal(why),
    }


def _known(runs: Sequence[Values]) -> list[dict[str, float]]:
    """Values of the percentiles that all runs but a few know; what a few lack is missing there."""
    names = dict.fromkeys(name for one in runs for name in one)
    kept = [name for name in names if sum(name not in one for one in runs) <= MOST_UNKNOWN * len(runs)]
    return [{name: one[name] for name in kept if name in one} for one in runs]


def _wide(runs: Sequence[Values], plan: MeasurePlan) -> tuple[str, ...]:
    """Percentiles whose interval over runs is wider than the plan's precision."""
    columns = {name: [one[name] for one in runs if name in one] for name in plan.labels}
    return tuple(
        name
        for name, column in columns.items()
        if column and mean_or_median(column, plan.middle).relative_half_width > plan.precision
    )


def decides(calm: documents.Calm | None, plan: MeasurePlan) -> bool:
    """Whether isolated latency decides the verdict: there was interference, and every percentile is valid."""
    if plan.decide_on == "raw" or calm is None or calm["refused"] or not calm["thefts"]:
        return False
    found = [calm["latency_us"].get(name) for name in plan.labels if name not in calm["unsettled"]]
    return (
        calm["verdict"] == "valid"
        and len(found) == len(plan.labels)
        and all(
            one is not None and one["verdict"] == "valid" and one["high"] not in (None, math.inf)
            for one in found
        )
    )


def _unsettled(runs: Sequence[RunCalm]) -> list[str]:
    """Quantiles of which more runs say so than chance alone would make, to 1 %."""
    said = [name for run in runs for name in run.unsettled]
    return [
        name
        for name in dict.fromkeys(said)
        if binomial_bounds(said.count(name), len(runs), 1.0 - 2.0 * SURE)[0] > SURE
    ]


def stands(calm: documents.Calm | None, plan: MeasurePlan) -> str:
    """The valid isolated latencies in words; empty where there was no interference."""
    if calm is None or not calm["thefts"]:
        return ""
    found = [(name, calm["latency_us"].get(name)) for name in plan.labels if name not in calm["unsettled"]]
    believed = [(name, one) for name, one in found if one is not None and one["verdict"] == "valid"]
    good = [figure(name, one) for name, one in believed if one["low"] is not None]
    taken = f"excluding {percent(calm['taken_share'] or 0.0)} of CPU time used by the hypervisor or others"
    return f"{', '.join(good)}, {taken}" if good else ""


def _commonest(looked: Sequence[RunCalm]) -> Refusal | None:
    """Where all are refused, the reason that most have."""
    why = [one.refused for one in looked if one.refused is not None]
    codes = [one.code for one in why]
    return max(why, key=lambda one: codes.count(one.code), default=None)


def _mean(values: Sequence[float]) -> float | None:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else None


def of_run(run: RunFigures) -> documents.RunCalm | None:
    """What one run says; null where nobody looked for thefts."""
    calm = run.calm
    if calm is None:
        return None
    return {
        "calm_us": {name: _written(value, calm.intervals.get(name)) for name, value in calm.values.items()},
        "unsettled": list(calm.unsettled),
        "taken_share": number(calm.taken),
        "counted_share": number(calm.counted),
        "thefts": calm.thefts,
        "spells": calm.spells,
        "seen_us": number(calm.seen_us),
        "sources": list(calm.sources),
        "refused": refusal(calm.refused),
    }


def _written(value: float, interval: Estimate | None) -> Value:
    return to_value(interval) if interval else {"value": number(value), "low": None, "high": None}


def refusal(why: Refusal | None) -> documents.CalmRefusal | None:
    """A refusal as it stands in documents."""
    if why is None:
        return None
    return {"code": why.code, "text": why.text, "need": why.need, "values": dict(why.values)}
