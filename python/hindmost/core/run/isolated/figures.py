"""Isolated latency of one run, and what several runs together show about their interruptions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.units import format_us, label
from hindmost.core.run import lateness, limits
from hindmost.core.run.isolated.interruptions import Interference, find_interference
from hindmost.core.run.isolated.refusal import OF_STATISTICS, Refusal
from hindmost.core.run.isolated.requests import RequestTimes, read_request_times
from hindmost.core.run.text import percent
from hindmost.core.store.engine import ClientResult
from hindmost.core.store.manifest import RunRecord
from hindmost.stats import (
    Dependence,
    Estimate,
    Interruptions,
    IsolatedLatency,
    IsolationRefusal,
    Onsets,
    Service,
    interruption_dependence,
    isolated_latency,
    run_value,
)
from hindmost.stats.requests.isolation import LEAST_SPELLS, censor

JUDGED_TOGETHER = Dependence(False, 1.0, math.nan, 0, "judged over all runs")
FULL = 0.999


@dataclass(frozen=True, slots=True)
class RunIsolated:
    """Isolated latency of one run.

    Attributes
    ----------
    values : dict
        Isolated quantiles by label, in microseconds; empty if refused. A quantile is missing if too many
        requests were censored to know it; an infinite one is known to be infinite. Without interference they
        are exactly the run's latency quantiles.
    intervals : dict
        Their intervals within the run; missing if the run is too short for one.
    unsettled : tuple of str
        Quantiles that differ significantly from the estimate with twice the wait.
    late : tuple of str
        Quantiles affected by a client that sends late although nothing used its CPU.
    taken, counted : float
        Share of the measurement with interference; share of requests that count.
    from_server : float
        Share of the measurement in which others used the server's CPUs, according to the sentinel.
    interruptions, spells : int
        Number of interruptions; number of spells without interference.
    seen_us : float
        Shortest interruption that is always seen, in microseconds.
    sources : tuple of str
        What observed the interference.
    onsets : tuple of Onsets
        The server's state when each interruption began, by client.
    refused : Refusal or None
        Why there are no values.
    """

    values: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, Estimate] = field(default_factory=dict)
    unsettled: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    taken: float = math.nan
    counted: float = math.nan
    from_server: float = math.nan
    interruptions: int = 0
    spells: int = 0
    seen_us: float = math.nan
    sources: tuple[str, ...] = ()
    onsets: tuple[Onsets, ...] = ()
    refused: Refusal | None = None


def run_isolated(
    folder: Path,
    record: RunRecord,
    results: Sequence[ClientResult],
    plan: MeasurePlan,
    raw: Mapping[str, float],
    alone: Sequence[Mapping[str, Estimate]],
    read: Callable[[Path, int], RequestTimes] = read_request_times,
) -> RunIsolated | None:
    """Compute a run's isolated latency; return None for studies that did not record interference.

    Parameters
    ----------
    folder : Path
        The run's folder.
    record : RunRecord
        Contents of ``run.json``.
    results : sequence of ClientResult
        Results of its clients.
    plan : MeasurePlan
        The run's plan.
    raw : mapping
        The run's latency quantiles in microseconds: the isolated ones if there was no interference.
    alone : sequence of mapping
        Each client's own estimates of its quantiles, in microseconds.
    read : callable, optional
        Reads the times of a client's requests.

    Raises
    ------
    StudyError
        If the sampled requests cannot be read.
    """
    if not all(thread.away for result in results for thread in result.threads):
        return None
    interference = find_interference(record, results, plan)
    if isinstance(interference, Refusal):
        return RunIsolated(refused=interference)
    if neighbours := _neighbours(record, interference):
        return _refuse(interference, neighbours)
    if not len(interference.interruptions) and interference.doubted is None:
        return _copy_measured(alone, interference, plan, raw)
    service = _service(record, results, interference)
    if isinstance(service, Refusal):
        return _refuse(interference, service)
    requests = [read(folder, index) for index in range(len(results))]
    if not all(one.scheduled.size for one in requests):
        none = Refusal("no-requests", "this run has no sampled requests", "--samples 20000")
        return _refuse(interference, none)
    if len(interference.interruptions):
        estimate = _estimate_censored(interference.interruptions, requests, service, plan, interference)
    else:
        estimate = _copy_measured(alone, interference, plan, raw)
    if interference.doubted is not None and estimate.refused is None:
        doubted = _estimate_censored(interference.doubted, requests, service, plan, interference)
        if doubt := _find_doubt(estimate, doubted, interference):
            return _refuse(interference, doubt, estimate.counted, estimate.spells)
    return estimate


def _copy_measured(
    alone: Sequence[Mapping[str, Estimate]],
    interference: Interference,
    plan: MeasurePlan,
    raw: Mapping[str, float],
) -> RunIsolated:
    """Return the measured latency of a run without interference as its isolated latency."""
    return RunIsolated(
        values={name: raw[name] for name in plan.labels},
        intervals=_combine_intervals(
            alone, [name for name in plan.labels if all(name in one for one in alone)], plan
        ),
        taken=0.0,
        counted=1.0,
        from_server=0.0,
        seen_us=interference.interruptions.seen_ns / 1e3,
        sources=interference.sources,
    )


def _estimate_censored(
    interruptions: Interruptions,
    requests: Sequence[RequestTimes],
    service: Service,
    plan: MeasurePlan,
    interference: Interference,
) -> RunIsolated:
    """Estimate isolated quantiles, with these interruptions as censoring."""
    parts: list[IsolatedLatency] = []
    for times in requests:
        part = isolated_latency(
            times.scheduled,
            times.completed,
            interruptions,
            service,
            plan.quantiles,
            least_spells=1,
            dependence=JUDGED_TOGETHER,
        )
        if isinstance(part, IsolationRefusal):
            why = Refusal(
                OF_STATISTICS.get(part.reason, part.reason),
                part.text,
                part.need,
                {"counted": part.counted, "taken": part.taken, "spells": part.spells},
            )
            return _refuse(interference, why, part.counted, part.spells)
        parts.append(part)
    rows = [
        {
            label(quantile.level): _microseconds(quantile.estimate)
            for quantile in part.quantiles
            if quantile.estimate is not None
        }
        for part in parts
    ]
    known_names = [name for name in plan.labels if all(name in row for row in rows)]
    values = {name: run_value([row[name].value for row in rows], plan.aggregate) for name in known_names}
    return RunIsolated(
        values=values,
        intervals=_combine_intervals(rows, known_names, plan),
        unsettled=tuple(
            dict.fromkeys(
                label(quantile.level)
                for part in parts
                for quantile in part.quantiles
                if quantile.settled is False
            )
        ),
        late=_late(requests, interruptions, service, plan, values),
        taken=interference.taken,
        from_server=interference.from_server,
        counted=sum(part.counted for part in parts) / len(parts),
        interruptions=len(interruptions),
        spells=min(part.spells for part in parts),
        seen_us=interruptions.seen_ns / 1e3,
        sources=interference.sources,
        onsets=tuple(
            Onsets.from_requests(
                times.scheduled, times.completed, interruptions, service, alike_ns=interference.alike_ns
            )
            for times in requests
        ),
    )


def _find_doubt(sure: RunIsolated, doubted: RunIsolated, interference: Interference) -> Refusal | None:
    """Return a refusal if the result depends on which of the sentinel's own waits were interference."""
    need = "real-time priority for the sentinel (root, or CAP_SYS_NICE); or lower --quantiles"
    waited = (
        f"the sentinel has no real-time priority and waited {percent(interference.unsure)} of the time for"
        " its CPU, which the server or others used"
    )
    if doubted.refused is not None:
        return Refusal(
            "uncertain-interference",
            f"{waited}; if others did, {doubted.refused.text}",
            need,
            {"unsure": interference.unsure, "code": doubted.refused.code},
        )
    for name, value in sure.values.items():
        other = doubted.values.get(name)
        if other is None or (value != other and not abs(value - other) <= limits.DOUBT * value):
            theirs = "not known" if other is None else format_us(other)
            text = f"{waited}; {name} is {theirs} if others did, else {format_us(value)}"
            values = {"unsure": interference.unsure, "name": name, "least_us": value, "most_us": other}
            return Refusal("uncertain-interference", text, need, values)
    return None


def find_refusal(runs: Sequence[RunIsolated]) -> Refusal | None:
    """Return why the isolated latency of these runs must not be used, judged over all of them, or None.

    Interruptions that follow the server's own work are not interference, and too few quiet spells cannot
    show the difference.

    Examples
    --------
    >>> find_refusal([RunIsolated(values={"p50": 20.0}, interruptions=3, spells=4, taken=0.001)]).values
    {'spells': 4, 'runs': 1, 'need': 30}
    """
    good = [run for run in runs if run.refused is None and run.interruptions]
    if not good:
        return None
    spells = sum(run.spells for run in good)
    if spells < LEAST_SPELLS:
        word = "run" if len(good) == 1 else "runs"
        return Refusal(
            "few-quiet-spells",
            f"{spells} spells without interference in {len(good)} {word}; {LEAST_SPELLS} are needed to tell"
            " interruptions from the server's own work",
            f"{math.ceil(LEAST_SPELLS / max(spells, 1))} times as many runs, or runs this much longer",
            {"spells": spells, "runs": len(good), "need": LEAST_SPELLS},
        )
    dependence = interruption_dependence([onsets for run in good for onsets in run.onsets])
    if dependence.depends:
        return Refusal(
            "dependent-interruptions",
            dependence.text,
            "no quota on the server, and no other work on its CPUs",
            {"p": dependence.p, "concordance": dependence.concordance},
        )
    return None


def _refuse(
    interference: Interference, why: Refusal, counted: float = math.nan, spells: int = 0
) -> RunIsolated:
    return RunIsolated(
        taken=interference.taken,
        from_server=interference.from_server,
        counted=counted,
        interruptions=len(interference.interruptions),
        spells=spells,
        seen_us=interference.interruptions.seen_ns / 1e3,
        sources=interference.sources,
        refused=why,
    )


def _neighbours(record: RunRecord, interference: Interference) -> Refusal | None:
    """Refuse if other programs share the server's CPUs.

    Their share is the busy time of these CPUs, less the server's own and the censored time. What a client saw
    of its own CPU is not part of it, nor is steal time, which does not count as busy.
    """
    busy, used = record.server_busy_share, record.server_cpu_share
    if busy is None or used is None:
        return None
    censored = max(0.0, interference.by_sentinel - (record.server_steal_share or 0.0))
    others = busy - used / len(record.target.cpus or ()) - censored
    if others <= limits.NEIGHBOURS:
        return None
    return Refusal(
        "cpu-neighbors",
        f"other programs used {percent(others)} of the server's CPUs at normal priority",
        "these programs on other CPUs: `top -H -o %CPU` shows them, taskset -acp CPUS PID moves one",
        {"share": others},
    )


def _service(
    record: RunRecord, results: Sequence[ClientResult], interference: Interference
) -> Service | Refusal:
    """Return the server's utilization: its CPU time over the CPU time that interference left."""
    used = record.server_cpu_share
    answered = sum(result.achieved_per_s for result in results)
    if used is None or not answered:
        return Refusal(
            "unknown-cpu-time" if used is None else "empty-sample",
            "the server's CPU time is not known" if used is None else "no request was answered",
            "a server on this host whose process can be seen",
        )
    servers = len(record.target.cpus or ())
    busy = min(FULL, used / (servers * max(1.0 - interference.taken, 1.0 - FULL)))
    return Service(busy, max(1.0, 1e9 * used / answered), servers=servers)


def _late(
    requests: Sequence[RequestTimes],
    interruptions: Interruptions,
    service: Service,
    plan: MeasurePlan,
    values: Mapping[str, float],
) -> tuple[str, ...]:
    """Return the quantiles that late sends affect, among requests that count."""
    levels = list(plan.quantiles)
    parts = []
    for times in requests:
        near = censor(times.scheduled, times.completed, interruptions, service)
        whole = near.counted[~near.censored]
        if whole.size:
            latency, served = ((times.completed - since)[whole] for since in (times.scheduled, times.sent))
            parts.append((np.quantile(latency, levels) - np.quantile(served, levels)) / 1e3)
    late_names = []
    for position, name in enumerate(plan.labels):
        if name not in values:
            continue
        late = run_value([float(part[position]) for part in parts] or [0.0])
        if lateness.matters(late, values[name]):
            late_names.append(name)
    return tuple(late_names)


def _microseconds(estimate: Estimate) -> Estimate:
    return Estimate(estimate.value / 1e3, estimate.low / 1e3, estimate.high / 1e3, 1, estimate.confidence)


def _combine_intervals(
    parts: Sequence[Mapping[str, Estimate]], names: Sequence[str], plan: MeasurePlan
) -> dict[str, Estimate]:
    """Combine the clients' intervals. Interruptions and queue are common to them, so their errors add up."""

    def combine(name: str) -> Estimate:
        value, low, high = ([getattr(part[name], end) for part in parts] for end in ("value", "low", "high"))
        is_known = not any(math.isnan(end) for end in low)
        ends = (
            (run_value(low, plan.aggregate), run_value(high, plan.aggregate)) if is_known else (math.nan,) * 2
        )
        return Estimate(run_value(value, plan.aggregate), *ends, 1)

    return {name: combine(name) for name in names}
