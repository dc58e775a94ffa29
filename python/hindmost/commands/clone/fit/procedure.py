"""The procedure that fits a clone to logs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.documents.fit import Own
from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.demand import Demand, demand
from hindmost.commands.clone.fit.draft import Draft
from hindmost.commands.clone.fit.laws.choice import Sample, choose_law
from hindmost.commands.clone.fit.laws.families import round_digits
from hindmost.commands.clone.fit.laws.kinds import LEAST_OF_KIND, Part, laws_by_kind
from hindmost.commands.clone.fit.load import Load, find_load
from hindmost.commands.clone.fit.network_time import find_network_time
from hindmost.commands.clone.fit.order.successive import Order, find_order
from hindmost.commands.clone.fit.own_load import MARGIN, own_load
from hindmost.commands.clone.fit.pauses.detection import Pauses, find_pauses
from hindmost.commands.clone.fit.reading import Log, Source, as_logs, join_logs
from hindmost.commands.clone.fit.threads.locks import find_sharing
from hindmost.commands.clone.fit.threads.sharing import Sharing
from hindmost.commands.clone.fit.turnaround import Turnaround, find_turnaround, stopped_us, without_arrivals
from hindmost.core.notes import Note
from hindmost.stats.runs.order import order_effect

DRIFT_PARTS = 20
"""Parts of a log whose means are tested for drift."""


@dataclass(frozen=True)
class Fit:
    """A fitted clone with the results of each step.

    Parameters
    ----------
    clone : Clone
        The checked document.
    log : Log
        The log.
    demand : Demand
        Service times without disturbances.
    whole : Part
        The law of all requests together.
    kinds : tuple of Part
        Laws by kind of request, if the document has them.
    order : Order
        The dependence between successive times.
    disturbance : Pauses or None
        Pauses in services: interference, or waits of requests.
    by_kind_error : float or None
        Error of the combined laws by kind on held-out samples.
    beside : Turnaround or None
        Time a request keeps its thread busy besides its service.
    load : Load or None
        How service times change with the load.
    threads : tuple of Note
        Findings from logs of several thread counts.
    own : tuple of Own
        Latency of each log compared with the clone's, or why it is unknown.
    unknown : tuple of Note
        What remains unknown; the document has the texts.
    """

    clone: Clone
    log: Log
    demand: Demand
    whole: Part
    kinds: tuple[Part, ...]
    order: Order
    disturbance: Pauses | None
    by_kind_error: float | None
    beside: Turnaround | None = None
    load: Load | None = None
    threads: tuple[Note, ...] = ()
    own: tuple[Own, ...] = ()
    unknown: tuple[Note, ...] = ()


def fit_clone(
    *sources: Log | Source,
    name: str | None = None,
    threads: int | None = None,
    of: Literal["auto", "cpu", "wall"] = "auto",
    disturbed: bool = True,
    way: str | Path | None = None,
) -> Fit:
    """Fit a clone to logs of one server, at several loads and with several thread counts if available.

    Parameters
    ----------
    logs : Log
        Logs, as from `read_log`, or sources that it reads. The law is fitted to the logs with the fewest
        threads; several of them show the load dependence.
    name : str, optional
        Name of the clone; by default, the file's name.
    threads : int, optional
        Number of worker threads; by default, that of the log.
    of : {"auto", "cpu", "wall"}
        Which times are the demand.
    disturbed : bool
        Whether interference becomes part of the clone; choose False if it will run on the same host.
    way : str or Path, optional
        A study of the same server at low load, which shows the time between client and server.

    Raises
    ------
    Inconclusive
        The log mainly shows interference.
    UsageError
        A log cannot be read; see `read_log`.
    """
    read, told = as_logs(sources)
    way = way or told
    alike, logs = _by_threads(read)
    log = logs[0]
    asked, beside = _demand(log, of)
    load, idle = _without_load(alike, log, asked, beside)
    order = find_order(idle)
    base = idle if order.regimes is None else idle / order.regimes.factor
    sample = Sample.from_times(base)
    whole = Part("all requests", 1.0, sample, choose_law(sample))
    kinds, by_kind = laws_by_kind(log, base, sample)
    gaps = find_pauses(log, asked)

    drifts = [] if order.sorted_ else _drifts(alike, asked.us)
    draft = Draft([*log.unknown, *asked.notes, *_unknown(logs, order), *drifts])
    draft.laws(whole, kinds, log.kind)
    draft.turnaround(beside)
    draft.load(load)
    draft.disturbance(gaps, taken=disturbed)
    said = draft.order(order, idle, whole, kinds)
    document = draft.document(name or Path(alike[0].source).stem, alike, logs)
    document |= {
        "note": str(beside) if isinstance(beside, Turnaround) else "",
        "threads": threads or log.threads,
        "order": order.document(said),
    }
    where = f"the clone of {log.source}"
    clone, sharing = _with_threads(document, logs, float(base.mean()), where)
    unknown = [*draft.unknown, *sharing.unknown]
    if way is not None:
        clone, short = _with_way(clone, Path(way), where)
        unknown += short
    # The logs contain the interference even if the clone leaves it out.
    parts = gaps.parts if isinstance(gaps, Pauses) else ()
    there = clone.with_changes(disturbances=gaps.documents()) if isinstance(gaps, Pauses) else clone
    after = beside.between.value if isinstance(beside, Turnaround) else 0.0
    return Fit(
        clone,
        log,
        asked,
        whole,
        kinds,
        order,
        gaps if isinstance(gaps, Pauses) else None,
        by_kind,
        beside if isinstance(beside, Turnaround) else None,
        load if isinstance(load, Load) else None,
        sharing.notes,
        tuple(own_load(there, one, after, parts) for one in (*alike, *logs[1:])),
        tuple(unknown),
    )


def _drifts(logs: tuple[Log, ...], us: Floats) -> list[Note]:
    """Return notes on logs whose service times drift, which no clone can describe."""
    notes, ends = [], np.cumsum([one.n for one in logs])
    for log, times in zip(logs, np.split(us, ends[:-1]), strict=True):
        means = np.array([part.mean() for part in np.array_split(times, DRIFT_PARTS)])
        found = order_effect(means)
        if found is None or not found.drifting or found.slope is None:
            continue
        change = float(found.slope) * (DRIFT_PARTS - 1) / float(np.median(means))
        if abs(change) > MARGIN:
            text = f"service times change by {change:+.0%} over {log.source}; the clone has their average"
            notes.append(
                Note("drifting-log", text, {"source": log.source, "change": change, "p": found.p_value})
            )
    return notes


def _by_threads(logs: tuple[Log, ...]) -> tuple[tuple[Log, ...], tuple[Log, ...]]:
    """Return the logs with the fewest threads; and these joined, followed by those with more."""
    fewest = min(one.threads for one in logs)
    alike = tuple(one for one in logs if one.threads == fewest)
    more = sorted((one for one in logs if one.threads > fewest), key=lambda one: one.threads)
    return alike, (join_logs(alike), *more)


def _demand(log: Log, of: Literal["auto", "cpu", "wall"]) -> tuple[Demand, Turnaround | Note]:
    """Return demands including turnaround, and the turnaround or why it is unknown."""
    asked = demand(log, of)
    beside = find_turnaround(log, asked.us if asked.of == "cpu" else None)
    if isinstance(beside, Note):
        return asked, beside
    excess = None if asked.excess_us is None else without_arrivals(log, asked.excess_us, beside)
    return replace(asked, us=asked.us + beside.between.value, excess_us=excess), beside


def _without_load(
    alike: tuple[Log, ...], log: Log, asked: Demand, beside: Turnaround | Note
) -> tuple[Load | Note, Floats]:
    """Return the load dependence or why it is unknown, and the service times without it."""
    source = np.repeat(np.arange(len(alike)), [one.n for one in alike])
    stops = [stopped_us(one, beside) if isinstance(beside, Turnaround) else 0.0 for one in alike]
    load = find_load(alike, asked.us, source, log.kind, stops)
    if isinstance(load, Note) or not load.seen:
        return load, asked.us
    return load, asked.us / (1.0 + load.time * np.array(load.at))[source]


def _with_threads(
    document: dict[str, Any], logs: tuple[Log, ...], mean_us: float, where: str
) -> tuple[Clone, Sharing]:
    """Return the clone with what its threads share, if there are logs of several thread counts."""
    clone = Clone.from_document(document, where)
    if len(logs) == 1:
        return clone, Sharing()
    sharing = find_sharing(logs, clone, mean_us)
    document["origin"]["unknown"] += [str(note) for note in sharing.unknown]
    document["origin"]["intervals"] |= sharing.intervals
    return Clone.from_document(sharing.document(document, mean_us), where), sharing


def _with_way(clone: Clone, way: Path, where: str) -> tuple[Clone, list[Note]]:
    """Return the clone with wake-up and network time from a study at low load, and notes."""
    awake = find_network_time(clone, way)
    document = {**clone.document, "wake_us": round_digits(awake.us)}
    unknown: list[Note] = []
    if awake.us == 0.0:
        text = f"wake-up and network time: too short next to the services of {way}"
        unknown.append(Note("no-wakeup-time", text, {"path": str(way)}))
        document["origin"]["unknown"] += [text]
    if not math.isnan(awake.low_us):
        document["origin"]["intervals"]["wake_us"] = (round_digits(awake.low_us), round_digits(awake.high_us))
    return Clone.from_document(document, where), unknown


def _unknown(logs: tuple[Log, ...], order: Order) -> list[Note]:
    notes: list[Note] = []
    log = logs[0]
    if len(logs) == 1:
        text = "locks and shared memory: the logs have one thread count (give 1, 2 and 4)"
        notes.append(Note("unknown-sharing", text))
    if log.kind is not None and np.bincount(log.kind).min() < LEAST_OF_KIND:
        count = np.bincount(log.kind)
        name, have = log.kinds[int(count.argmin())], int(count.min())
        notes.append(
            Note(
                "rare-kind",
                f"laws by kind of request: {name} has {have:,} requests, but a law needs {LEAST_OF_KIND:,}",
                {"name": name, "have": have, "need": LEAST_OF_KIND},
            )
        )
    if order.sorted_:
        notes.append(Note("sorted-times", "the order of requests: the times are sorted"))
    return notes
