"""The rate a saturated server reached: an upper bound for the highest rate that can hold.

A server that cannot keep up works without pause. What it answers then, late replies included, is its
capacity: no higher rate can hold. The highest sustainable rate lies below, where queues stay bounded. One run
at one rate cannot find it, so the message names the search that does.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.units import format_us
from hindmost.core.run import instrument, limits
from hindmost.core.run.figures import RunFigures
from hindmost.core.run.standstill import standstills
from hindmost.core.store import measure as documents
from hindmost.core.store.engine import ClientResult
from hindmost.core.store.estimates import number
from hindmost.core.store.types import Target
from hindmost.stats import Estimate, positive_mean_interval

Culprit = Literal["server", "client", "connections", "silence"]


@dataclass(frozen=True, slots=True)
class Saturation:
    """What could not keep up with the requested rate, and the replies per second meanwhile.

    ``by``: ``server``; ``client``, which was too busy itself; ``connections``, which the server never served;
    or ``silence`` if nothing was answered at all.
    """

    by: Culprit
    requested_per_s: float
    answered: Estimate
    busy_share: float
    server_share: float | None
    silent: int
    connections: int
    find: str

    @property
    def text(self) -> str:
        """Return the reason and the reply rate in words."""
        if self.by == "silence":
            return "the server answered no request"
        if self.by == "connections":
            return (
                f"the server accepted {self.silent:,} of {self.connections:,} connections and never answered"
            )
        if self.by == "client":
            return (
                f"the client was busy {100.0 * self.busy_share:.0f} % of the time and got replies to"
                f" {self.reply_rate}; the server may reach more"
            )
        share = self.server_share
        used = f" used {100.0 * share:.0f} % of its CPUs and" if share and share > limits.BUSY_INVALID else ""
        return (
            f"the server{used} is saturated: it answered {self.reply_rate}, late replies included; no"
            " higher rate can hold"
        )

    def values(self) -> dict[str, Any]:
        """Return the same as values of a message."""
        return {
            "by": self.by,
            "requested_per_s": self.requested_per_s,
            "answered_per_s": self.answered.value,
            "client_busy": self.busy_share,
            "server_busy": self.server_share,
            "silent": self.silent,
            "connections": self.connections,
        }

    @property
    def reply_rate(self) -> str:
        """Replies per second with their interval over runs, as text."""
        text = f"{self.answered.value:,.0f}"
        if self.answered.known:
            text += f" [{self.answered.low:,.0f}, {self.answered.high:,.0f}]"
        return f"{text} requests/s"

    def document(self) -> documents.Saturation:
        """Return the form it has in ``result.json``."""
        return documents.Saturation(
            by=self.by,
            requested_per_s=self.requested_per_s,
            answered_per_s=documents.Rate(
                value=self.answered.value,
                low=number(self.answered.low),
                high=number(self.answered.high),
                runs=self.answered.n,
            ),
            text=self.text,
            find=self.find,
        )


def answered_share(plan: MeasurePlan, runs: Sequence[RunFigures]) -> float | None:
    """Return the share of requested requests answered in time; None if no rate was requested."""
    if plan.rate_per_s is None or not runs:
        return None
    return sum(run.counts.completed + run.counts.errors for run in runs) / _count_requested(
        plan, plan.rate_per_s, runs
    )


def _count_requested(plan: MeasurePlan, rate_per_s: float, runs: Sequence[RunFigures]) -> float:
    """Count the requested requests. For a trace or schedule these are the scheduled ones; its rate varies."""
    if plan.law.dispersion is None:
        return max(1.0, sum(run.counts.scheduled for run in runs))
    return rate_per_s * plan.duration_s * len(runs)


def fell_short(plan: MeasurePlan, runs: Sequence[RunFigures]) -> bool:
    """Whether more requests are missing than random variation or a server standstill explains."""
    share = answered_share(plan, runs)
    if share is None or plan.rate_per_s is None:
        return False
    requested = _count_requested(plan, plan.rate_per_s, runs)
    chance = 4.0 * math.sqrt((plan.law.dispersion or 0.0) / requested)
    limit = max(limits.RATE_SHORTFALL, chance)
    if 1.0 - share <= limit:
        return False
    still = sum(stop.waited for run in runs for stop in standstills(run, plan))
    return 1.0 - share - still / requested > limit


def saturation(plan: MeasurePlan, target: Target, runs: Sequence[RunFigures]) -> Saturation | None:
    """Return what limited these runs, or None if they reached the requested rate.

    Parameters
    ----------
    target : Target
        As in ``result.json``: ``cpus`` are the server's.
    """
    if plan.rate_per_s is None or not fell_short(plan, runs):
        return None
    answered = positive_mean_interval([replies_per_s(run, plan) for run in runs])
    busy = max(client.busy_share for run in runs for client in run.clients)
    used = [s for run in runs if (s := run.record.server_cpu_share) is not None]
    share = None
    if used:  # read after the last reply, so it may exceed the CPU time of the measurement itself
        share = min(1.0, sum(used) / len(used) / max(1, len(target.cpus or [0])))
    shares = [part for run in runs for t in instrument.threads(run) if (part := t.shares)]
    silent = sum(part.silent for part in shares)
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
        sum(part.connections for part in shares),
        _search(plan, answered.value),
    )


def replies_per_s(run: RunFigures, plan: MeasurePlan) -> float:
    """Return replies per second in the measurement, late ones included, summed over clients."""
    return sum(_replies_per_s(client.result, plan.duration_s) for client in run.clients)


def _replies_per_s(result: ClientResult, measure_s: float) -> float:
    begins = (result.warmup_s + result.calibration.seconds) * 1e9
    ends = begins + measure_s * 1e9
    rate = 0.0
    for worker in result.series or []:
        before = 0
        inside = replies = 0
        for window in worker:
            if before >= begins and window.at_ns <= ends:
                inside += window.at_ns - before
                replies += window.count
            before = window.at_ns
        rate += replies / inside * 1e9 if inside else 0.0
    return rate


def _search(plan: MeasurePlan, answered: float) -> str:
    """Return the command that searches for the highest sustainable rate, starting below the reply rate.

    Its limit is a tenth of the timeout: in short runs that finds the rate at which queues stop growing. Users
    will usually know a better limit.
    """
    name = "p99" if "p99" in plan.labels else plan.labels[-1]
    limit = format_us(plan.timeout_s * 1e6 / 10.0).replace(" ", "").replace("µ", "u")
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
