"""What a pair of runs owes to the CPU time that requests happened to cost: a second control variate [1]_.

A request of an original takes 5 to 10 % more or less CPU time from one minute to the next, by whoever
shares the host; and those that a run drew are longer or shorter than others. A clone takes the time that
its document says. At 70 % load a percent of the service is three of the latency, so that this alone makes
pairs scatter by a tenth and more.

What requests cost is known of every run: the kernel's CPU time of the server over its requests. It is
known, too, of the studies in which the logs were made that the clone is fitted to. The simulator serves the
clone once as it is, and once with all times longer by what a request cost in the run over what it cost when
it was logged; the ratio of the two is what the run owes to the cost. Taken off, what is left compares law,
queue, wake-ups and interruptions: the clone and its original *as it was logged*. How much the cost has
changed is a figure of its own.

.. [1] A. M. Law, Simulation Modeling and Analysis, section 11.4 (control variates).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np

from hindmost.errors import StudyError
from hindmost.models import Clone
from hindmost.models.fit.reading.table import open_table
from hindmost.models.parameters import FACTOR, changes
from hindmost.models.simulation import Design, run_points
from hindmost.store import Study

DESIGN = Design(requests=400_000, quantiles=(0.95, 0.99), sections=1)
"""All points draw the same, so that their ratios are known far better than they are."""

COST = "cost"

Lateness = dict[int, dict[str, dict[str, float]]]
"""Pair, then series, then figure of the latency: how much longer the costs of that run made it; and `COST`:
what a request cost over what it cost when it was logged."""


def cost_us(run: Mapping[str, Any]) -> float | None:
    """CPU time of the server a request, in microseconds, of a run of ``hindmost.measure/1``, if known."""
    share, rate = run.get("server_cpu_share"), (run.get("throughput") or {}).get("achieved")
    return 1e6 * float(share) / float(rate) if share and rate else None


def longer_by(clone: Clone, rate_per_s: float, factors: Sequence[float]) -> list[dict[str, float] | None]:
    """By how much latencies grow if a clone's times do.

    Parameters
    ----------
    clone : Clone
        Any.
    rate_per_s : float
        How fast requests arrive.
    factors : sequence of float
        Times over those of the document.

    Returns
    -------
    list
        For each factor, figure to ratio: ``mean``, ``p95``, ``p99``; None of one with which the clone could
        not serve so many.

    Examples
    --------
    >>> from hindmost.models import load_clone
    >>> told = longer_by(load_clone("xapian"), 1.0, [1.0, 1.1, 1e6])
    >>> round(told[0]["mean"], 6), round(told[1]["mean"], 2), told[2]
    (1.0, 1.1, None)
    """

    def point(factor: float) -> dict[str, Any]:
        new = changes(clone.document, {FACTOR: factor})
        if arrival_us := clone.document.get("arrival_us"):
            new["/arrival_us"] = factor * arrival_us
        return {"load": {"rate_per_s": rate_per_s}, "set": new}

    found = [one.prediction for one in run_points(clone, [point(one) for one in (1.0, *factors)], DESIGN)]
    own, *told = (
        {name: one["value"] for name, one in of["latency_us"].items()} if of["state"] == "done" else None
        for of in found
    )
    return [
        None if own is None or one is None else {name: one[name] / own[name] for name in one} for one in told
    ]


@dataclass(frozen=True, slots=True)
class Logged:
    """What a request of the original cost when it was logged.

    Parameters
    ----------
    rates_per_s : tuple of float
        Of the studies, rising.
    beside_us : tuple of float
        At each, CPU time of the server that is in no service: sockets, queues, waking up.
    service_us : float
        CPU time of a service, over the requests of all logs: that of the law which was fitted to them.
    """

    rates_per_s: tuple[float, ...]
    beside_us: tuple[float, ...]
    service_us: float

    def at(self, clone: Clone, rate_per_s: float) -> float:
        """CPU time of a request at one rate in us, its service as dependent on the load as the clone's."""
        beside = float(np.interp(rate_per_s, self.rates_per_s, self.beside_us))
        grows = float(clone.document.get("load", {}).get("time", 0.0)) / (clone.capacity_per_s or math.inf)
        usual = np.average(1.0 + grows * np.array(self.rates_per_s), weights=self.rates_per_s)
        return beside + self.service_us * (1.0 + grows * rate_per_s) / float(usual)


def read_logged(studies: Sequence[Path]) -> Logged:
    """Read studies of an original that logged its services, and their logs.

    Raises
    ------
    StudyError
        There is no whole answer or no log, or the server's CPU time is not known.
    """
    found: dict[float, list[float]] = {}
    spent, served = 0.0, 0
    for folder in studies:
        again = f"log and measure at once: hindmost measure 'TARGET?log=FILE' --out {folder}-again"
        try:
            result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
            rate = float(result["throughput"]["asked"])
            costs = [cost for run in result["runs"] if (cost := cost_us(run)) is not None]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StudyError(
                f"{folder} has no whole answer: {error}", hint=f"hindmost report {folder}"
            ) from None
        tables = [open_table(log) for log in _logs_of(folder)]
        cpu = [table.whole(["cpu_ns"])[0] / 1e3 for table in tables if "cpu_ns" in table.names]
        if not costs or not cpu:
            lacks = "the server's CPU time" if cpu else "a log of the server's with cpu_ns"
            raise StudyError(f"{folder} is without {lacks}: what a request cost is not told", hint=again)
        own = np.concatenate(cpu)
        spent, served = spent + float(own.sum()), served + own.size
        found.setdefault(rate, []).append(float(np.mean(costs)) - float(own.mean()))
    beside = {rate: float(np.mean(costs)) for rate, costs in sorted(found.items())}
    return Logged(tuple(beside), tuple(beside.values()), spent / served)


def _logs_of(folder: Path) -> list[Path]:
    """Where the server of a study logged, by the options of its target (``%p``: its process)."""
    target = str(Study.open(folder).manifest["plan"]["target"])
    (name,) = parse_qs(target.partition("?")[2]).get("log", [""])
    path = Path(name)
    return sorted(path.parent.glob(path.name.replace("%p", "*"))) if name else []


def lateness(
    clone: Clone,
    rate_per_s: float,
    runs: Mapping[str, Mapping[int, Mapping[str, Any]]],
    pairs: Sequence[int],
    logged: Logged,
) -> Lateness:
    """What every run of the original owes to its cost, for the pairs in which that is known of both."""
    others = [who for who in runs if who != "clone"]
    costs = {(pair, who): cost_us(runs[who][pair]) for pair in pairs for who in others}
    known = {which: cost / logged.at(clone, rate_per_s) for which, cost in costs.items() if cost is not None}
    told = dict(zip(known, longer_by(clone, rate_per_s, list(known.values())), strict=True))
    found: Lateness = {}
    for pair in pairs:
        by = {
            who: ratios | {COST: known[pair, who]}
            for who in others
            if (ratios := told.get((pair, who))) is not None
        }
        if len(by) == len(others):
            found[pair] = by
    return found
