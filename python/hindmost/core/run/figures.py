"""The figures of a run, and their totals over runs.

A run's histograms take about 10 MB, so each run is read, reduced to figures, and released. The distributions
that stay are packed: which client owns the slowest requests is known only once the threshold is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from hindmost._engine import Histogram
from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.units import label
from hindmost.core.run.arrivals import compare_arrivals
from hindmost.core.run.isolated import RunIsolated, run_isolated
from hindmost.core.run.readings import (
    SOMETIMES,
    STAMPED,
    WHATS,
    ClientReading,
    What,
    merge_histograms,
    microseconds,
    read_clients,
)
from hindmost.core.store import StoredRun
from hindmost.core.store.engine import ClientResult
from hindmost.core.store.engine import Counts as ClientCounts
from hindmost.core.store.manifest import RunRecord
from hindmost.core.store.measure import Arrivals
from hindmost.core.store.types import Counts, Document, Reason
from hindmost.stats import RunInterval, run_interval, run_value, sections_allowed, within_variance
from hindmost.stats.runs.aggregate import Aggregate

_Document = TypeVar("_Document", bound=Document)

Values = dict[str, float]
SECTIONS = 10
"""The engine keeps this many sections of the measurement (`SECTIONS` in crates/load)."""


@dataclass(slots=True)
class Totals:
    """Distributions of a run's clients, or of several runs, merged."""

    whole: dict[What, Histogram] = field(default_factory=lambda: {what: Histogram() for what in WHATS})
    outstanding: Histogram = field(default_factory=Histogram)
    writes: Histogram = field(default_factory=Histogram)
    endpoints: dict[int, Histogram] = field(default_factory=dict)

    def add(self, clients: Iterable[ClientReading]) -> None:
        """Merge the clients of one run."""
        for reading in clients:
            for what in WHATS:
                self.whole[what].merge(reading.whole(what))
            self.outstanding.merge(reading.outstanding)
            self.writes.merge(reading.writes)
            self._merge_endpoints(reading.endpoints)

    def merge(self, other: Totals) -> None:
        """Merge the totals of another run."""
        for what in WHATS:
            self.whole[what].merge(other.whole[what])
        self.outstanding.merge(other.outstanding)
        self.writes.merge(other.writes)
        self._merge_endpoints(other.endpoints)

    def pack(self) -> None:
        """Compact the histograms to save memory."""
        for histogram in (*self.whole.values(), self.outstanding, self.writes, *self.endpoints.values()):
            histogram.pack()

    def _merge_endpoints(self, others: Mapping[int, Histogram]) -> None:
        for index, latency in others.items():
            self.endpoints.setdefault(index, Histogram()).merge(latency)


@dataclass(frozen=True, slots=True)
class ClientFigures:
    """One client of one run: its result document, its quantiles, its latency distribution.

    ``alone``: intervals of its latency quantiles from this client in this run alone, in microseconds.
    """

    result: ClientResult
    values: dict[What, Values]
    latency: Histogram
    arrivals: Arrivals | None = None
    alone: dict[str, RunInterval] = field(default_factory=dict)

    @property
    def busy_share(self) -> float:
        """Share of time spent sending and receiving, rather than waiting, of its busiest worker."""
        return max((t.busy_share for t in self.result.threads), default=0.0)

    @property
    def cpu_share(self) -> float | None:
        """Share of time on a CPU, spinning included, of the worker that had the least."""
        return min((t.cpu_share for t in self.result.threads), default=None)

    @property
    def run_delay_share(self) -> float | None:
        """Share of time spent waiting for a CPU, of the worker that waited longest."""
        delays = [t.run_delay_share for t in self.result.threads if t.run_delay_share is not None]
        return max(delays) if delays else None

    @property
    def involuntary_switches(self) -> int:
        """How often the kernel preempted its workers."""
        return sum(t.span.involuntary_switches for t in self.result.threads)


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One run: values in microseconds (inf: infinitely late) by quantity and label.

    ``within``: sampling variance of each latency quantile, None if unknown. ``sections``: each latency
    quantile in equal spans of the run, in order; few or none if the run has few requests. ``isolated``:
    isolated latency, None in studies that did not record interference. ``reasons``: what the verdict finds
    in this run alone, gravest first.
    """

    number: int
    record: RunRecord
    values: dict[What, Values]
    kind_values: dict[str, Values]
    within: dict[str, float | None]
    counts: Counts
    kind_counts: dict[str, Counts]
    clients: list[ClientFigures]
    latency: Histogram
    isolated: RunIsolated | None = None
    sections: dict[str, list[float]] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    reasons: list[Reason] = field(default_factory=list)


def read_figures(run: StoredRun, plan: MeasurePlan) -> RunFigures:
    """Read the files of a run and reduce them to figures."""
    clients = read_clients(run)
    totals = Totals()
    totals.add(clients)
    totals.pack()
    how, levels = plan.aggregate, plan.quantiles
    kinds = [kind for kind in clients[0].result.kinds if _counts(clients, kind).scheduled]

    def over_clients(what: What, level: float | None, kind: str | None = None) -> float:
        return run_value([microseconds(_pick(reading, what, kind), level) for reading in clients], how)

    def all_levels(what: What, kind: str | None = None) -> Values:
        named = {label(level): over_clients(what, level, kind) for level in levels}
        return named | {"mean": over_clients(what, None, kind)}

    values = {what: all_levels(what) for what in (*WHATS, *_extra(clients))}
    each = [_client(reading, plan) for reading in clients]
    sections = {label(level): _sections(clients, level, how) for level in levels}
    sections["mean"] = _sections(clients, None, how)
    latency = merge_histograms(reading.whole("latency") for reading in clients)
    latency.pack()
    return RunFigures(
        number=run.number,
        record=run.record,
        values=values,
        kind_values={kind: all_levels("latency", kind) for kind in kinds},
        within={name: within_variance(values) for name, values in sections.items()},
        counts=_counts(clients, None),
        kind_counts={kind: _counts(clients, kind) for kind in kinds},
        clients=each,
        latency=latency,
        isolated=run_isolated(
            run.folder,
            run.record,
            [reading.result for reading in clients],
            plan,
            values["latency"],
            [{name: alone.estimate for name, alone in client.alone.items()} for client in each],
        ),
        sections=sections,
        totals=totals,
    )


def _extra(clients: Sequence[ClientReading]) -> list[What]:
    """Return the quantities that only some runs have, of those that these clients recorded."""
    whats: list[What] = [what for what in SOMETIMES if _have(clients, what)]
    return whats + (list(STAMPED) if _have(clients, "wire") else [])


def _have(clients: Sequence[ClientReading], what: What) -> bool:
    return all(reading.whole(what).count for reading in clients)


def _pick(reading: ClientReading, what: What, kind: str | None) -> Histogram:
    return reading.whole(what) if kind is None else reading.by_kind.get((what, kind), Histogram())


def _counts(clients: Sequence[ClientReading], kind: str | None) -> Counts:
    results = [reading.result for reading in clients]
    return add_counts([one.counts if kind is None else one.kinds[kind] for one in results])


def add_counts(parts: Sequence[Counts] | Sequence[ClientCounts]) -> Counts:
    """Add up the counts of several clients, kinds or runs."""
    return add_up(Counts, parts) or Counts(**dict.fromkeys(Counts.__struct_fields__, 0))


def add_up(kind: type[_Document], parts: Iterable[object]) -> _Document | None:
    """Add up documents of counts, without those that are missing; None if all are."""
    known = [part for part in parts if part]
    names = kind.__struct_fields__
    return kind(**{name: sum(getattr(part, name) for part in known) for name in names}) if known else None


def _client(reading: ClientReading, plan: MeasurePlan) -> ClientFigures:
    values: dict[What, Values] = {
        what: {label(level): microseconds(reading.whole(what), level) for level in plan.quantiles}
        | {"mean": microseconds(reading.whole(what), None)}
        for what in WHATS
    }
    alone = (
        {label(level): _alone(reading, level) for level in plan.quantiles}
        if reading.whole("latency").count
        else {}
    )
    reading.whole("latency").pack()
    return ClientFigures(
        _result(reading.result), values, reading.whole("latency"), compare_arrivals(reading, plan), alone
    )


def _result(result: ClientResult) -> ClientResult:
    """Drop the long lists, from which the figures are already computed."""
    threads = [replace(thread, away=UNSET) for thread in result.threads]
    return replace(result, threads=threads, raw_gaps_ns=[])


def _alone(reading: ClientReading, level: float) -> RunInterval:
    whole, sections = reading.whole("latency"), reading.sections(SECTIONS)

    def quantile_us(q: float) -> float | None:
        nanoseconds = whole.quantile(q)
        return None if nanoseconds is None else nanoseconds / 1e3

    def above(us: float) -> list[int]:
        return [part.censored if math.isinf(us) else part.count_above(int(us * 1e3)) for part in sections]

    return run_interval(level, quantile_us, above, [part.count for part in sections])


def _sections(clients: Sequence[ClientReading], level: float | None, how: Aggregate) -> list[float]:
    """Compute a run's latency quantile (None: mean) in equal spans; empty if the spans are too short."""
    samples = min(reading.whole("latency").count for reading in clients)
    allowed = SECTIONS if level is None else sections_allowed(samples, level, at_most=SECTIONS)
    if allowed < 2:
        return []
    cut = [one.sections(allowed) for one in clients]
    spans = min(len(sections) for sections in cut)
    return [run_value([microseconds(one[i], level) for one in cut], how) for i in range(spans)]
