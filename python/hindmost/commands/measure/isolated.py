"""Isolated latency in the answer: of each run, and over runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from hindmost.commands.measure.text import format_figure
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.figures import RunFigures, Values
from hindmost.core.run.isolated import Refusal, RunIsolated, find_refusal
from hindmost.core.run.text import percent
from hindmost.core.run.verdict import Reason, overall
from hindmost.core.store import measure as documents
from hindmost.core.store.estimates import Value, number, to_value
from hindmost.stats import Estimate
from hindmost.stats import middle_interval as mean_or_median
from hindmost.stats.requests.isolation import SURE
from hindmost.stats.tables import binomial_bounds

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
"""Codes of reasons that speak against latency, but not against isolated latency. Late sends also count
against the quantiles that are late without interference."""

MOST_UNKNOWN = 0.1
"""Largest share of runs that may lack a percentile. The runs that lack it had the most interference."""
Estimator = Callable[[Sequence[Values], Sequence[Reason]], documents.Estimates]


def over_runs(
    runs: Sequence[RunFigures], reasons: Sequence[Reason], estimates: Estimator, plan: MeasurePlan
) -> documents.Isolated | None:
    """Summarise the isolated latency of all runs; None if no run looked for interference.

    Parameters
    ----------
    runs : sequence of RunFigures
        At least one run; includes runs that are excluded for interference.
    reasons : sequence of Reason
        Reasons of the verdict on latency.
    estimates : callable
        Turns values of runs into estimates, as for latency.
    plan : MeasurePlan
        Gives the precision that each percentile must reach.
    """
    looked = [run.isolated for run in runs if run.isolated is not None]
    if not looked:
        return None
    good = [isolated for isolated in looked if isolated.refused is None]
    why = find_refusal(good) if good else _most_frequent(looked)
    remaining = list(reasons)
    if any(one.interruptions for one in looked):
        names = [name for one in good for name in one.late]
        late = tuple(name for name in dict.fromkeys(names) if 2 * names.count(name) > len(good))
        remaining = [reason for reason in reasons if reason.code not in FROM_INTERFERENCE]
        remaining += [
            replace(reason, labels=late) for reason in reasons if reason.code == "late-sends" and late
        ]
    shown = good if why is None else []
    values = _shared_percentiles([one.values for one in shown])
    if not plan.quick and (wide := _wide(values, plan)):
        remaining.append(Reason("wide-intervals", "inconclusive", "", labels=wide))
    return documents.Isolated(
        latency_us=estimates(values, remaining) if shown else {},
        verdict=overall(remaining) if shown else "inconclusive",
        runs=len(good),
        of=len(runs),
        interference_share=_mean([one.taken for one in looked]),
        counted_share=_mean([one.counted for one in good]),
        interruptions=sum(one.interruptions for one in looked),
        seen_us=max((one.seen_us for one in looked if math.isfinite(one.seen_us)), default=None),
        sources=list(dict.fromkeys(source for one in looked for source in one.sources)),
        unsettled=_find_unsettled(shown),
        refused=refusal(why),
    )


def _shared_percentiles(runs: Sequence[Values]) -> list[dict[str, float]]:
    """Return the percentiles that nearly all runs have; single runs may lack them."""
    names = dict.fromkeys(name for one in runs for name in one)
    kept = [name for name in names if sum(name not in one for one in runs) <= MOST_UNKNOWN * len(runs)]
    return [{name: one[name] for name in kept if name in one} for one in runs]


def _wide(runs: Sequence[Values], plan: MeasurePlan) -> tuple[str, ...]:
    """Return the percentiles whose interval over runs is wider than the plan's precision."""
    columns = {name: [one[name] for one in runs if name in one] for name in plan.labels}
    return tuple(
        name
        for name, column in columns.items()
        if column and mean_or_median(column, plan.middle).relative_half_width > plan.precision
    )


def decides(isolated: documents.Isolated | None, plan: MeasurePlan) -> bool:
    """Whether isolated latency decides the verdict: there was interference, and every percentile is valid."""
    if plan.decide_on == "raw" or isolated is None or isolated.refused or not isolated.interruptions:
        return False
    estimates = [isolated.latency_us.get(name) for name in plan.labels if name not in isolated.unsettled]
    return (
        isolated.verdict == "valid"
        and len(estimates) == len(plan.labels)
        and all(
            one is not None and one.verdict == "valid" and one.high not in (None, math.inf)
            for one in estimates
        )
    )


def _find_unsettled(runs: Sequence[RunIsolated]) -> list[str]:
    """Return the quantiles that more runs report as unsettled than chance explains (at 1 %)."""
    names = [name for run in runs for name in run.unsettled]
    return [
        name
        for name in dict.fromkeys(names)
        if binomial_bounds(names.count(name), len(runs), 1.0 - 2.0 * SURE)[0] > SURE
    ]


def describe_valid(isolated: documents.Isolated | None, plan: MeasurePlan) -> str:
    """Format the valid isolated latencies; empty if there was no interference."""
    if isolated is None or not isolated.interruptions:
        return ""
    estimates = [
        (name, isolated.latency_us.get(name)) for name in plan.labels if name not in isolated.unsettled
    ]
    believed = [(name, one) for name, one in estimates if one is not None and one.verdict == "valid"]
    good = [format_figure(name, one) for name, one in believed if one.low is not None]
    share = percent(isolated.interference_share or 0.0)
    taken = f"excluding {share} of CPU time used by the hypervisor or others"
    return f"{', '.join(good)}, {taken}" if good else ""


def _most_frequent(looked: Sequence[RunIsolated]) -> Refusal | None:
    """Return the most frequent reason why runs have no isolated latency."""
    why = [one.refused for one in looked if one.refused is not None]
    codes = [one.code for one in why]
    return max(why, key=lambda one: codes.count(one.code), default=None)


def _mean(values: Sequence[float]) -> float | None:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else None


def describe_run(run: RunFigures) -> documents.RunIsolated | None:
    """Describe the isolated latency of one run; None if the run did not look for interference."""
    isolated = run.isolated
    if isolated is None:
        return None
    return documents.RunIsolated(
        isolated_us={
            name: _value_of(value, isolated.intervals.get(name)) for name, value in isolated.values.items()
        },
        unsettled=list(isolated.unsettled),
        interference_share=number(isolated.taken),
        counted_share=number(isolated.counted),
        interruptions=isolated.interruptions,
        spells=isolated.spells,
        seen_us=number(isolated.seen_us),
        sources=list(isolated.sources),
        refused=refusal(isolated.refused),
    )


def _value_of(value: float, interval: Estimate | None) -> Value:
    return to_value(interval) if interval else Value(value=number(value), low=None, high=None)


def refusal(why: Refusal | None) -> documents.IsolatedRefusal | None:
    """Return a refusal as a document."""
    if why is None:
        return None
    return documents.IsolatedRefusal(code=why.code, text=why.text, need=why.need, values=dict(why.values))
