"""Calm latency of one run, and what several runs say together of whose thefts they were."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hindmost.plan import MeasurePlan
from hindmost.plan.units import format_us, label
from hindmost.run import lateness, limits
from hindmost.run.calm.refusal import OF_STATISTICS, Refusal
from hindmost.run.calm.requests import Kept, kept
from hindmost.run.calm.thefts import Seen, seen
from hindmost.run.text import percent
from hindmost.stats import (
    Calm,
    Dependence,
    Estimate,
    Onsets,
    Refused,
    Service,
    Thefts,
    calm_latency,
    run_value,
    theft_dependence,
)
from hindmost.stats.requests.calm import LEAST_SPELLS, watch
from hindmost.store.engine import InstanceResult

JUDGED_TOGETHER = Dependence(False, 1.0, math.nan, 0, "judged over all runs")
FULL = 0.999


@dataclass(frozen=True, slots=True)
class RunCalm:
    """What a run says of its server on processors of its own.

    Attributes
    ----------
    values : dict
        Calm quantiles by label, in microseconds; empty where they are refused. One that is not known, because
        too many requests were cut short, is missing; an infinite one is known to be. Without a theft they are
        the run's latency quantiles, to the bit.
    intervals : dict
        The same with their intervals within the run; none where it is too short for one.
    unsettled : tuple of str
        Quantiles that differ, beyond chance, from what twice the wait gives.
    late : tuple of str
        Quantiles that tell of a client that sends late although nobody took its processor.
    taken, counted : float
        Share of the measurement that others took; share of requests that count.
    from_server : float
        Share of the measurement that others took from the server's processors, as the sentinel saw.
    thefts, spells : int
        How many there were; how many calm spells.
    seen_us : float
        The smallest theft that was sure to be seen.
    sources : tuple of str
        Who saw them.
    onsets : tuple of Onsets
        What the server was doing as thefts began, by instance.
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
    thefts: int = 0
    spells: int = 0
    seen_us: float = math.nan
    sources: tuple[str, ...] = ()
    onsets: tuple[Onsets, ...] = ()
    refused: Refusal | None = None


def run_calm(
    folder: Path,
    record: Mapping[str, Any],
    results: Sequence[InstanceResult],
    plan: MeasurePlan,
    raw: Mapping[str, float],
    alone: Sequence[Mapping[str, Estimate]],
    read: Callable[[Path, int], Kept] = kept,
) -> RunCalm | None:
    """Calm latency of a run; None of a study that is older than the looking for thefts.

    Parameters
    ----------
    folder : Path
        The run's.
    record : mapping
        What ``run.json`` says.
    results : sequence of InstanceResult
        Of its instances.
    plan : MeasurePlan
        What it was made with.
    raw : mapping
        The run's latency quantiles in microseconds: they are the calm ones where nothing was taken.
    alone : sequence of mapping
        What each client can say of its quantiles by itself, in microseconds.
    read : callable, optional
        Gives the times of a client's requests.

    Raises
    ------
    StudyError
        If the kept requests cannot be read.
    """
    if any("away" not in thread for result in results for thread in result["threads"]):
        return None
    known = seen(record, results, plan)
    if isinstance(known, Refusal):
        return RunCalm(refused=known)
    if neighbours := _neighbours(record, known):
        return _refused(known, neighbours)
    if not len(known.thefts) and known.doubted is None:
        return _undisturbed(alone, known, plan, raw)
    service = _service(record, results, known)
    if isinstance(service, Refusal):
        return _refused(known, service)
    requests = [read(folder, index) for index in range(len(results))]
    if not all(one.due.size for one in requests):
        none = Refusal("no-requests", "this run kept no single requests", "--samples 20000")
        return _refused(known, none)
    if len(known.thefts):
        found = _without(known.thefts, requests, service, plan, known)
    else:
        found = _undisturbed(alone, known, plan, raw)
    if known.doubted is not None and found.refused is None:
        doubted = _without(known.doubted, requests, service, plan, known)
        if doubt := _doubt(found, doubted, known):
            return _refused(known, doubt, found.counted, found.spells)
    return found


def _undisturbed(
    alone: Sequence[Mapping[str, Estimate]], known: Seen, plan: MeasurePlan, raw: Mapping[str, float]
) -> RunCalm:
    """A run of which nothing was taken: as it was measured."""
    return RunCalm(
        values={name: raw[name] for name in plan.labels},
        intervals=_together(alone, [name for name in plan.labels if all(name in one for one in alone)], plan),
        taken=0.0,
        counted=1.0,
        from_server=0.0,
        seen_us=known.thefts.seen_ns / 1e3,
        sources=known.sources,
    )


def _without(
    thefts: Thefts, requests: Sequence[Kept], service: Service, plan: MeasurePlan, known: Seen
) -> RunCalm:
    """Calm quantiles with these thefts as censoring."""
    parts: list[Calm] = []
    for one in requests:
        part = calm_latency(
            one.due,
            one.done,
            thefts,
            service,
            plan.quantiles,
            least_spells=1,
            dependence=JUDGED_TOGETHER,
        )
        if isinstance(part, Refused):
            why = Refusal(
                OF_STATISTICS.get(part.reason, part.reason),
                part.text,
                part.need,
                {"counted": part.counted, "taken": part.taken, "spells": part.spells},
            )
            return _refused(known, why, part.counted, part.spells)
        parts.append(part)
    rows = [
        {label(one.level): _microseconds(one.estimate) for one in part.quantiles if one.estimate is not None}
        for part in parts
    ]
    known_names = [name for name in plan.labels if all(name in row for row in rows)]
    values = {name: run_value([row[name].value for row in rows], plan.aggregate) for name in known_names}
    return RunCalm(
        values=values,
        intervals=_together(rows, known_names, plan),
        unsettled=tuple(
            dict.fromkeys(
                label(one.level) for part in parts for one in part.quantiles if one.settled is False
            )
        ),
        late=_late(requests, thefts, service, plan, values),
        taken=known.taken,
        from_server=known.from_server,
        counted=sum(part.counted for part in parts) / len(parts),
        thefts=len(thefts),
        spells=min(part.spells for part in parts),
        seen_us=thefts.seen_ns / 1e3,
        sources=known.sources,
        onsets=tuple(
            Onsets.of(one.due, one.done, thefts, service, alike_ns=known.alike_ns) for one in requests
        ),
    )


def _doubt(sure: RunCalm, doubted: RunCalm, known: Seen) -> Refusal | None:
    """Whether it matters which of the sentinel's own waits were interference: all, none, or some of them."""
    need = "real-time priority for the sentinel (root, or CAP_SYS_NICE); or lower --quantiles"
    waited = (
        f"the sentinel has no real-time priority and waited {percent(known.unsure)} of the time for its CPU,"
        " which the server or others used"
    )
    if doubted.refused is not None:
        return Refusal(
            "uncertain-interference",
            f"{waited}; if others did, {doubted.refused.text}",
            need,
            {"unsure": known.unsure, "code": doubted.refused.code},
        )
    for name, value in sure.values.items():
        other = doubted.values.get(name)
        if other is None or (value != other and not abs(value - other) <= limits.DOUBT * value):
            theirs = "not known" if other is None else format_us(other)
            text = f"{waited}; {name} is {theirs} if others did, else {format_us(value)}"
            values = {"unsure": known.unsure, "name": name, "least_us": value, "most_us": other}
            return Refusal("uncertain-interference", text, need, values)
    return None


def judged(runs: Sequence[RunCalm]) -> Refusal | None:
    """Why the isolated latency of these runs must not be used; all of them decide together.

    Interruptions that follow the server's own work are not interference; and too few spells do not tell.

    Examples
    --------
    >>> judged([RunCalm(values={"p50": 20.0}, thefts=3, spells=4, taken=0.001)]).values
    {'spells': 4, 'runs': 1, 'need': 30}
    """
    good = [run for run in runs if run.refused is None and run.thefts]
    if not good:
        return None
    spells = sum(run.spells for run in good)
    if spells < LEAST_SPELLS:
        word = "run" if len(good) == 1 else "runs"
        return Refusal(
            "few-quiet-spells",
            f"{spells} spells without interference in {len(good)} {word}; {LEAST_SPELLS} are needed to tell"
            " interruptions from the server's own work",
            f"{math.ceil(LEAST_SPELLS / max(spells, 1))} times as many runs, or runs as much longer",
            {"spells": spells, "runs": len(good), "need": LEAST_SPELLS},
        )
    dependence = theft_dependence([onsets for run in good for onsets in run.onsets])
    if dependence.depends:
        return Refusal(
            "dependent-interruptions",
            dependence.text,
            "no quota on the server, and no other work on its CPUs",
            {"p": dependence.p, "concordance": dependence.concordance},
        )
    return None


def _refused(known: Seen, why: Refusal, counted: float = math.nan, spells: int = 0) -> RunCalm:
    return RunCalm(
        taken=known.taken,
        from_server=known.from_server,
        counted=counted,
        thefts=len(known.thefts),
        spells=spells,
        seen_us=known.thefts.seen_ns / 1e3,
        sources=known.sources,
        refused=why,
    )


def _neighbours(record: Mapping[str, Any], known: Seen) -> Refusal | None:
    """Programs that share the server's CPUs: time used there, less what the server used and what is censored.

    What a client saw of its own CPU is no part of it; nor is what the hypervisor took, which is no use.
    """
    busy, used = record.get("server_busy_share"), record.get("server_cpu_share")
    if busy is None or used is None:
        return None
    censored = max(0.0, known.by_sentinel - (record.get("server_steal_share") or 0.0))
    others = busy - used / len(record["target"]["cpus"]) - censored
    if others <= limits.NEIGHBOURS:
        return None
    return Refusal(
        "cpu-neighbors",
        f"other programs used {percent(others)} of the server's CPUs at normal priority",
        "these programs on other CPUs: `top -H -o %CPU` shows them, taskset -acp CPUS PID moves one",
        {"share": others},
    )


def _service(record: Mapping[str, Any], results: Sequence[InstanceResult], known: Seen) -> Service | Refusal:
    """How busy the server is in calm time: its CPU time over what was left of its processors."""
    used = record.get("server_cpu_share")
    answered = sum(result["achieved_per_s"] for result in results)
    if used is None or not answered:
        return Refusal(
            "unknown-cpu-time" if used is None else "empty-sample",
            "the server's CPU time is not known" if used is None else "no request was answered",
            "a server on this host whose process can be seen",
        )
    servers = len(record["target"]["cpus"])
    busy = min(FULL, used / (servers * max(1.0 - known.taken, 1.0 - FULL)))
    return Service(busy, max(1.0, 1e9 * used / answered), servers=servers)


def _late(
    requests: Sequence[Kept],
    thefts: Thefts,
    service: Service,
    plan: MeasurePlan,
    values: Mapping[str, float],
) -> tuple[str, ...]:
    """Quantiles that tell of late sending, among requests that count."""
    levels = list(plan.quantiles)
    parts = []
    for one in requests:
        near = watch(one.due, one.done, thefts, service)
        whole = near.counted[~near.censored]
        if whole.size:
            latency, served = ((one.done - since)[whole] for since in (one.due, one.sent))
            parts.append((np.quantile(latency, levels) - np.quantile(served, levels)) / 1e3)
    found = []
    for place, name in enumerate(plan.labels):
        if name not in values:
            continue
        late = run_value([float(part[place]) for part in parts] or [0.0])
        if lateness.matters(late, values[name]):
            found.append(name)
    return tuple(found)


def _microseconds(one: Estimate) -> Estimate:
    return Estimate(one.value / 1e3, one.low / 1e3, one.high / 1e3, 1, one.confidence)


def _together(
    parts: Sequence[Mapping[str, Estimate]], names: Sequence[str], plan: MeasurePlan
) -> dict[str, Estimate]:
    """Intervals of clients as one: thefts and queue are common to them, so that they err together."""

    def one(name: str) -> Estimate:
        value, low, high = ([getattr(part[name], end) for part in parts] for end in ("value", "low", "high"))
        known = not any(math.isnan(end) for end in low)
        ends = (run_value(low, plan.aggregate), run_value(high, plan.aggregate)) if known else (math.nan,) * 2
        return Estimate(run_value(value, plan.aggregate), *ends, 1)

    return {name: one(name) for name in names}
