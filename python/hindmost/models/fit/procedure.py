"""From logs to a clone: what each step found, and the document that comes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hindmost.models.document import SCHEMA, Clone
from hindmost.models.fit.choice import Sample, choose
from hindmost.models.fit.copula import said_autocorrelation
from hindmost.models.fit.demand import Demand, demand
from hindmost.models.fit.disturbance import Disturbance, find_disturbance
from hindmost.models.fit.intervals import Intervals, intervals
from hindmost.models.fit.kinds import LEAST_OF_KIND, Part, laws_by_kind
from hindmost.models.fit.laws import rounded
from hindmost.models.fit.load import Load, find_load
from hindmost.models.fit.locks import Sharing, find_sharing
from hindmost.models.fit.order import Order, find_order
from hindmost.models.fit.reading import Log, joined, together
from hindmost.models.fit.turnaround import Turnaround, find_turnaround, stopped_us, without_arrivals
from hindmost.models.fit.way import find_way


@dataclass(frozen=True)
class Fit:
    """A clone, and how it was found.

    Parameters
    ----------
    clone : Clone
        The checked document.
    log : Log
        What was read.
    demand : Demand
        Service times without disturbances.
    whole : Part
        The law of all requests together.
    kinds : tuple of Part
        Laws by kinds of request, where the document has them.
    order : Order
        How successive times hang together.
    disturbance : Disturbance or None
        What took the CPU away.
    by_kind_error : float or None
        Error of the laws by kinds together, on what was held out.
    beside : Turnaround or None
        What a request takes of its thread beside its service.
    load : Load or None
        How service times change with the load.
    threads : tuple of str
        What runs with several threads said, in words.
    """

    clone: Clone
    log: Log
    demand: Demand
    whole: Part
    kinds: tuple[Part, ...]
    order: Order
    disturbance: Disturbance | None
    by_kind_error: float | None
    beside: Turnaround | None = None
    load: Load | None = None
    threads: tuple[str, ...] = ()

    @property
    def unknown(self) -> list[str]:
        """What the data could not tell."""
        return list(self.clone.document["origin"]["unknown"])


def fit_clone(
    *logs: Log,
    name: str | None = None,
    threads: int | None = None,
    of: Literal["auto", "cpu", "wall"] = "auto",
    disturbed: bool = True,
    way: Path | None = None,
) -> Fit:
    """Fit a clone to logs of one server: at several loads, and of 1, 2 and 4 threads where threads meet.

    Parameters
    ----------
    logs : Log
        As `read_log` gives them. The law is that of those with the fewest threads; where these are several,
        what depends on the load is told from them.
    name : str, optional
        What it is a clone of; the file's name otherwise.
    threads : int, optional
        Worker threads; those of the log otherwise.
    of : {"auto", "cpu", "wall"}
        Which time is the demand.
    disturbed : bool
        Whether what took the CPU away becomes part of the clone; not where it will run on the same host.
    way : Path, optional
        A study of the same server at low load, which tells what lies between client and server.

    Raises
    ------
    Inconclusive
        The log is more one of its neighbours than of the server.
    """
    fewest = min(one.threads for one in logs)
    alike = tuple(one for one in logs if one.threads == fewest)
    log = joined(alike)
    logs = (log, *sorted((one for one in logs if one.threads > fewest), key=lambda one: one.threads))
    asked = demand(log, of)
    beside = find_turnaround(log, asked.us if asked.of == "cpu" else None)
    if isinstance(beside, Turnaround):
        excess = None if asked.excess_us is None else without_arrivals(log, asked.excess_us, beside)
        asked = replace(asked, us=asked.us + beside.between.value, excess_us=excess)
    source = np.repeat(np.arange(len(alike)), [one.n for one in alike])
    stops = [stopped_us(one, beside) if isinstance(beside, Turnaround) else 0.0 for one in alike]
    load = find_load(alike, asked.us, source, log.kind, stops)
    idle = asked.us
    if isinstance(load, Load) and load.seen:
        idle = asked.us / (1.0 + load.time * np.array(load.at))[source]
    order = find_order(idle)
    base = idle if order.regimes is None else idle / order.regimes.factor
    sample = Sample.of(base)
    whole = Part("all requests", 1.0, sample, choose(sample))
    kinds, by_kind = laws_by_kind(log, base, sample)
    found: Intervals = {}
    body: dict[str, Any] = {}
    if kinds:
        body["kinds"] = [
            {"name": part.name, "share": part.share, "service": part.choice.taken.model.document()}
            for part in kinds
        ]
        for place, part in enumerate(kinds):
            found |= intervals(part.sample, part.choice.taken.model, f"kinds[{place}].service")
    else:
        body["service"] = whole.choice.taken.model.document()
        found |= intervals(sample, whole.choice.taken.model, "service")
    unknown = [*log.unknown, *asked.said, *_unknown(logs, order)]
    if isinstance(beside, str):
        unknown.append(beside)
    elif beside.arrival is not None:
        body["arrival_us"] = rounded(beside.arrival.value)
        found["arrival_us"] = (rounded(beside.arrival.low), rounded(beside.arrival.high))
    if isinstance(load, str):
        unknown.append(load)
    elif load.seen:
        body["load"] = {"time": rounded(load.time)}
        found["load.time"] = (rounded(load.low), rounded(load.high))
    else:
        unknown.append(f"times that depend on the load: none that is more than chance; {load}")
    gaps = find_disturbance(log, asked)
    if isinstance(gaps, Disturbance):
        if disturbed:
            body["disturbances"] = [gaps.document()]
            found |= gaps.intervals("disturbances[0]")
        else:
            unknown.append(f"{gaps.hits:,} gaps off the CPU are left out: the clone is for the same host")
    elif gaps:
        unknown.append(gaps)
    said = order.autocorrelation
    if said and kinds:
        unknown.append(
            f"how the autocorrelation ({said:.2f}) goes through kinds of request: which kind comes next is"
            " drawn independently"
        )
    elif said:
        said = said_autocorrelation(whole.choice.taken.model, said)
        reach = (order.interval[1] - order.interval[0]) / 2.0 * said / order.autocorrelation
        found["order.autocorrelation"] = (rounded(said - reach), rounded(said + reach))
    document = {
        "schema": SCHEMA,
        "name": name or Path(alike[0].source).stem,
        "note": "" if isinstance(beside, str) else str(beside),
        "threads": threads or log.threads,
        **body,
        "order": order.document(said),
        "wake_us": rounded(log.wake_us),
        "outside_us": rounded(log.outside_us),
        "origin": {
            "source": ", ".join(Path(one.source).name for one in (*alike, *logs[1:])),
            "sha256": log.sha256 if len(logs) == 1 else together(one.sha256 for one in logs),
            "samples": sum(one.n for one in logs),
            "utilisation_at_most": min(1.0, rounded(max(one.utilisation or 0.0 for one in (*alike, *logs)))),
            "intervals": found,
            "unknown": unknown,
        },
    }
    where = f"the clone of {log.source}"
    clone = Clone.of(document, where)
    sharing = Sharing()
    if len(logs) > 1:
        sharing = find_sharing(logs, clone, float(base.mean()))
        unknown += sharing.unknown
        found |= sharing.intervals
        clone = Clone.of(sharing.document(document, float(base.mean())), where)
    if way is not None:
        awake = find_way(clone, way)
        document = {**clone.document, "wake_us": rounded(awake.us)}
        if awake.us == 0.0:
            document["origin"]["unknown"].append(
                f"waking up and the way: too short beside the services of {way}"
            )
        if not math.isnan(awake.low_us):
            document["origin"]["intervals"]["wake_us"] = (rounded(awake.low_us), rounded(awake.high_us))
        clone = Clone.of(document, where)
    return Fit(
        clone,
        log,
        asked,
        whole,
        kinds,
        order,
        gaps if isinstance(gaps, Disturbance) else None,
        by_kind,
        beside if isinstance(beside, Turnaround) else None,
        load if isinstance(load, Load) else None,
        sharing.said,
    )


def _unknown(logs: tuple[Log, ...], order: Order) -> list[str]:
    said, log = [], logs[0]
    if len(logs) == 1:
        said.append(
            "locks and shared memory: logs of one thread count tell nothing of them (give 1, 2 and 4)"
        )
    if log.kind is not None and np.bincount(log.kind).min() < LEAST_OF_KIND:
        said.append(
            f"laws by kind of request: {log.kinds[int(np.bincount(log.kind).argmin())]} has"
            f" {int(np.bincount(log.kind).min()):,} requests, and a law needs {LEAST_OF_KIND:,}"
        )
    if order.sorted_:
        said.append("the order of requests: the times are sorted, so that it is not in the log")
    return said
