"""What was carried where the asked rate was not: an upper estimate of the highest rate that can hold.

A server that falls short works without pause, so what it answers then, late replies included, is its
capacity: no higher rate can hold. A rate that does hold lies below, where queues have an end; one run at one
rate does not know where, so what is told next to it is the search that finds it.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hindmost.plan import MeasurePlan
from hindmost.plan.units import format_us
from hindmost.run import instrument, limits
from hindmost.run.figures import RunFigures
from hindmost.run.standstill import standstills
from hindmost.stats import Estimate, positive_mean_interval
from hindmost.store import measure as documents
from hindmost.store.engine import InstanceResult
from hindmost.store.estimates import bounds

Culprit = Literal["server", "client", "connections", "silence"]


@dataclass(frozen=True, slots=True)
class Saturation:
    """Who could not carry the asked rate, and what was answered meanwhile, in requests a second.

    ``by``: the server; the client, which was too busy itself; ``connections`` that the server never served;
    or ``silence``, where nothing was answered at all.
    """

    by: Culprit
    asked_per_s: float
    answered: Estimate
    busy_share: float
    server_share: float | None
    silent: int
    connections: int
    find: str

    @property
    def text(self) -> str:
        """Why, and how many requests were answered."""
        if self.by == "silence":
            return "the server answered no request"
        if self.by == "connections":
            return (
                f"the server accepted {self.silent:,} of {self.connections:,} connections and never answered"
            )
        if self.by == "client":
            return (
                f"the client was busy {100.0 * self.busy_share:.0f} % of the time and got replies to"
                f" {self.carried}; the server may reach more"
            )
        share = self.server_share
        used = f" used {100.0 * share:.0f} % of its CPUs and" if share and share > limits.BUSY_INVALID else ""
        return (
            f"the server{used} is saturated: it answered {self.carried}, late replies included; no"
            " higher rate can hold"
        )

    def values(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "by": self.by,
            "asked_per_s": self.asked_per_s,
            "answered_per_s": self.answered.value,
            "client_busy": self.busy_share,
            "server_busy": self.server_share,
            "silent": self.silent,
            "connections": self.connections,
        }

    @property
    def carried(self) -> str:
        """Replies a second, with their interval over runs."""
        text = f"{self.answered.value:,.0f}"
        if self.answered.known:
            text += f" [{self.answered.low:,.0f}, {self.answered.high:,.0f}]"
        return f"{text} requests/s"

    def document(self) -> documents.Saturation:
        """As it stands in ``result.json``."""
        return {
            "by": self.by,
            "asked_per_s": self.asked_per_s,
            "answered_per_s": {
                "value": self.answered.value,
                **bounds(self.answered.low, self.answered.high),
                "runs": self.answered.n,
            },
            "text": self.text,
            "find": self.find,
        }


def answered_share(plan: MeasurePlan, runs: Sequence[RunFigures]) -> float | None:
    """Share of the asked requests that were sent and answered in time; None where no rate was asked for."""
    if plan.rate_per_s is None or not runs:
        return None
    return sum(run.counts["done"] + run.counts["errors"] for run in runs) / _asked(
        plan, plan.rate_per_s, runs
    )


def _asked(plan: MeasurePlan, rate_per_s: float, runs: Sequence[RunFigures]) -> float:
    """Requests asked for; of a trace or a schedule those that were due, which the rate does not tell."""
    if plan.law.dispersion is None:
        return max(1.0, sum(run.counts["due"] for run in runs))
    return rate_per_s * plan.duration_s * len(runs)


def fell_short(plan: MeasurePlan, runs: Sequence[RunFigures]) -> bool:
    """Whether more of the asked rate is missing than chance explains, or a server that stood still."""
    share = answered_share(plan, runs)
    if share is None or plan.rate_per_s is None:
        return False
    asked = _asked(plan, plan.rate_per_s, runs)
    chance = 4.0 * math.sqrt((plan.law.dispersion or 0.0) / asked)
    limit = max(limits.RATE_SHORTFALL, chance)
    if 1.0 - share <= limit:
        return False
    still = sum(one.waited for run in runs for one in standstills(run, plan))
    return 1.0 - share - still / asked > limit


def saturation(plan: MeasurePlan, target: Mapping[str, Any], runs: Sequence[RunFigures]) -> Saturation | None:
    """What the runs say of capacity; None where they carried the rate.

    Parameters
    ----------
    target : mapping
        As in ``result.json``: ``cpus`` are the server's.
    """
    if plan.rate_per_s is None or not fell_short(plan, runs):
        return None
    answered = positive_mean_interval([replies_per_s(run, plan) for run in runs])
    busy = max(one.busy_share for run in runs for one in run.instances)
    used = [s for run in runs if (s := run.record.get("server_cpu_share")) is not None]
    share = None
    if used:  # its time is read when the last replies are in, so it may exceed what there was
        share = min(1.0, sum(used) / len(used) / max(1, len(target.get("cpus") or [0])))
    shares = [found for run in runs for t in instrument.threads(run) if (found := t.get("shares"))]
    silent = sum(one["silent"] for one in shares)
    by: Culprit = "server"
    if answered.value <= 0.0:
        by = "silence"
    elif silent:
        by = "connections"
    elif busy > limits.BUSY_INVALID and not (share and share > limits.BUSY_INVALID):
        by = "client"
    return Saturation(
        by,
        plan.rate_per_s,
        answered,
        busy,
        share,
        silent,
        sum(one["connections"] for one in shares),
        _search(plan, answered.value),
    )


def replies_per_s(run: RunFigures, plan: MeasurePlan) -> float:
    """Replies read in the measurement, late ones included, by second, over all instances."""
    return sum(_replies_per_s(one.result, plan.duration_s) for one in run.instances)


def _replies_per_s(result: InstanceResult, measure_s: float) -> float:
    begins = (result["warmup_s"] + result["calibration"]["seconds"]) * 1e9
    ends = begins + measure_s * 1e9
    rate = 0.0
    for worker in result.get("series", []):
        before = 0
        inside = replies = 0
        for window in worker:
            if before >= begins and window["at_ns"] <= ends:
                inside += window["at_ns"] - before
                replies += window["count"]
            before = window["at_ns"]
        rate += replies / inside * 1e9 if inside else 0.0
    return rate


def _search(plan: MeasurePlan, answered: float) -> str:
    """The command that finds the highest rate that holds, from below what was answered.

    Its objective is a tenth of the timeout: in a run of seconds that finds the rate at which queues stop
    growing. People will know a better one.
    """
    name = "p99" if "p99" in plan.labels else plan.labels[-1]
    limit = format_us(plan.timeout_s * 1e6 / 10.0).replace(" ", "")
    words = ["hindmost", "measure", plan.target, "--find-rate", f"{name}<{limit}"]
    words += ["--rate", f"{max(10.0, float(f'{0.7 * answered:.2g}')):.12g}"]
    for flag, value, usual in (
        ("--connections", plan.connections, 16),
        ("--threads", plan.threads, 1),
        ("--duration", f"{plan.duration_s:g}s", "10s"),
    ):
        if value != usual:
            words += [flag, str(value)]
    return shlex.join(words)
