"""The figure of a limit, with its interval over runs, from the answer's document.

Latencies are those of the study's table: the median over runs, or the mean if there are too few runs for an
interval of their median. Throughput is the mean over runs. A share counts all requests. Its interval covers
the differences between runs and the chance in a finite number of requests: no failure among 1,000 requests
does not prove 0 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hindmost.core.plan import Term, share
from hindmost.core.plan.term import Time
from hindmost.core.store import measure as documents
from hindmost.stats import Estimate, Middle, middle_interval, positive_mean_interval
from hindmost.stats.tables import binomial_bounds

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure over runs, and the value of each run by its number."""

    estimate: Estimate
    about: str
    by_run: dict[int, float]


def figure_of(document: documents.Measure, term: Term) -> Figure | None:
    """Return the figure of a limit; None if there is none, as without isolated latency or sessions."""
    runs = _counted_runs(document)
    if term.is_share:
        return _share([(run.run, share(term.name, run.counts)) for run in runs])
    if not term.is_latency:
        rates = {run.run: run.throughput.achieved for run in runs}
        return Figure(positive_mean_interval(list(rates.values()), CONFIDENCE), "mean", rates)
    values = _isolated(document, term.name) if term.isolated else _times_by_run(runs, term)
    return _latency(values, _center(document)) if values else None


def _counted_runs(document: documents.Measure) -> list[documents.Run]:
    """Return the runs that count; all runs if none does."""
    return [run for run in document.runs if not run.excluded] or document.runs


def _times_by_run(runs: Sequence[documents.Run], term: Term) -> dict[int, float]:
    return {run.run: us for run in runs if (us := _times(run, term.time).get(term.name)) is not None}


def _times(run: documents.Run, time: Time) -> documents.Values:
    match time:
        case "first_message":
            return run.first_message_us or {}
        case "message_gap":
            return run.message_gap_us or {}
        case "session":
            return run.session_us or {}
    return run.latency_us


def _isolated(document: documents.Measure, name: str) -> dict[int, float]:
    """Return isolated latency by run, including excluded runs that have it."""
    isolated = document.isolated
    if not isolated or isolated.refused or name not in isolated.latency_us:
        return {}
    return {
        run.run: us
        for run in document.runs
        if (found := run.isolated)
        and name in found.isolated_us
        and (us := found.isolated_us[name].value) is not None
    }


def _center(document: documents.Measure) -> Middle:
    found = document.over_runs
    return found.about if found else "mean"


def _latency(values: dict[int, float], about: Middle) -> Figure:
    column = list(values.values())
    estimate = middle_interval(column, about, CONFIDENCE)
    if not estimate.known and len(column) > 1:
        if all(map(math.isinf, column)):
            estimate = Estimate(math.inf, math.inf, math.inf, len(column), CONFIDENCE)
        elif about == "median":
            return _latency(values, "mean")
    return Figure(estimate, about, values)


def unanswered_share(document: documents.Measure) -> tuple[float, float]:
    """Return the share of scheduled requests without a reply, and the lower end of its interval.

    With one run, the interval covers chance alone (Clopper and Pearson).
    """
    runs = _counted_runs(document)
    found = _share([(run.run, share("unanswered", run.counts)) for run in runs]).estimate
    if found.known:
        return found.value, found.low
    silent, scheduled = (sum(share("unanswered", run.counts)[place] for run in runs) for place in (0, 1))
    return found.value, binomial_bounds(silent, scheduled, CONFIDENCE)[0]


def _share(runs: Sequence[tuple[int, tuple[int, int]]]) -> Figure:
    """Return the share of all requests; the interval of a single run is unknown."""
    shares = {number: counted / of for number, (counted, of) in runs}
    counted, of = (sum(pair[place] for _, pair in runs) for place in (0, 1))
    value = counted / of
    between = positive_mean_interval(list(shares.values()), CONFIDENCE)
    if not between.known:
        return Figure(Estimate(value, math.nan, math.nan, len(runs), CONFIDENCE), "share", shares)
    least, most = binomial_bounds(counted, of, CONFIDENCE)
    low, high = min(between.low, least, value), max(min(between.high, 1.0), most, value)
    return Figure(Estimate(value, low, high, len(runs), CONFIDENCE), "share", shares)
