"""Whether the clients distorted the result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hindmost.core.plan.units import format_us
from hindmost.core.run import instrument, limits
from hindmost.core.run.figures import RunFigures
from hindmost.core.run.lateness import matters
from hindmost.core.run.sharing import SEPARATE_CPUS, format_cpus, shared_cpus
from hindmost.core.run.standstill import standstills
from hindmost.core.run.text import join_names, percent
from hindmost.core.run.verdict import accidents
from hindmost.core.run.verdict.interference import explains_late_sends, measure_interference
from hindmost.core.run.verdict.reason import Evidence, Level, Origin, Reason, mean
from hindmost.stats import Middle, middle_interval


@dataclass(frozen=True, slots=True)
class Lateness:
    """A latency quantile of the table, and how much of it comes from late sends.

    ``late_us`` is latency minus the service latency of the same table.
    """

    name: str
    latency_us: float
    late_us: float

    @property
    def share(self) -> float:
        """``late_us`` as a fraction of the latency."""
        return self.late_us / self.latency_us

    @property
    def matters(self) -> bool:
        """Whether it is more than a tenth of the latency, and more than a quiet host's noise."""
        return matters(self.late_us, self.latency_us)


def lateness(runs: Sequence[RunFigures], name: str, about: Middle) -> Lateness | None:
    """Return the lateness of the table's figure for these runs; None if the latency is infinite."""
    latency, service = (
        middle_interval([run.values[what][name] for run in runs], about).value
        for what in ("latency", "service")
    )
    if not math.isfinite(latency) or latency <= 0.0 or not math.isfinite(service):
        return None
    return Lateness(name, latency, max(0.0, latency - service))


def late_sends(e: Evidence) -> Iterator[Reason]:
    """Late sends account for a large part of a quantile."""
    if e.plan.loop == "closed":
        return
    busy = max(client.busy_share for run in e.runs for client in run.clients)
    # After a server stall many replies are read at once, and requests are sent late because of that.
    steady_runs = [run for run in e.runs if not standstills(run, e.plan)] or e.runs
    late = []
    for name in e.plan.labels:
        overall, steady = (lateness(runs, name, e.plan.middle) for runs in (e.runs, steady_runs))
        if overall is not None and overall.matters and steady is not None and steady.matters:
            late.append(overall)
    of_host = [quantile for quantile in late if explains_late_sends(e, quantile.name)]
    own = [quantile for quantile in late if quantile not in of_host]
    if own:
        yield _late(own, "invalid", "client", cause_of_lateness(e, busy))
    if of_host:
        yield _late(of_host, "inconclusive", "host", _interference(e))


@dataclass(frozen=True, slots=True)
class LateCause:
    """Why requests were sent late; ``values["cause"]`` is its code."""

    text: str
    hint: str
    values: Mapping[str, Any]


def _late(late: Sequence[Lateness], level: Level, origin: Origin, cause: LateCause) -> Reason:
    worst = max(late, key=lambda quantile: quantile.share)
    names = tuple(quantile.name for quantile in late)
    return Reason(
        "late-sends",
        level,
        f"requests were sent late: that accounts for {format_us(worst.late_us)} of the"
        f" {format_us(worst.latency_us)} at {worst.name} ({percent(worst.share)},"
        f" limit {percent(limits.LATENESS)}){_also(names, worst.name)}; {cause.text}",
        cause.hint,
        names,
        origin,
        f"requests were sent late ({percent(worst.share)} of {worst.name})",
        {
            "name": worst.name,
            "late_us": worst.late_us,
            "latency_us": worst.latency_us,
            "share": worst.share,
            "limit": limits.LATENESS,
            **cause.values,
        },
    )


def _also(names: Sequence[str], worst: str) -> str:
    others = [name for name in names if name != worst]
    return f", and for too much of {join_names(others)}" if others else ""


def _interference(e: Evidence) -> LateCause:
    """Interference as the cause of late sends."""
    cpu = measure_interference(e, whole=False)
    values = {"cause": "interference", **cpu.values()}
    if cpu.programs >= cpu.hypervisor and cpu.programs > limits.STEAL_MIND:
        neighbours = instrument.list_neighbours(e.runs)
        return LateCause(
            f"other threads used the client's CPU {percent(cpu.programs)} of the time:"
            f" {accidents.name_neighbours(neighbours)}",
            accidents.keep_off(e, neighbours),
            values | {"neighbors": accidents.neighbour_values(neighbours)},
        )
    return LateCause(
        f"interference on the client's CPU{f': {cpu.text}' if cpu.text else ''}",
        "`hindmost host doctor` shows the host's noise; use lower quantiles, or a quieter machine",
        values,
    )


def cause_of_lateness(e: Evidence, busy: float) -> LateCause:
    """Return why requests were sent late, and what helps."""
    if shared := shared_cpus(e.plan, e.target.cpus or ()):
        return LateCause(
            f"server and client share {format_cpus(shared)}: while one works, the other waits",
            SEPARATE_CPUS,
            {"cause": "shared-cpus", "cpus": shared},
        )
    if busy > limits.BUSY_MIND:
        return LateCause(
            f"a client was busy {percent(busy)} of the time",
            _more_clients(e),
            {"cause": "client-busy", "busy": busy},
        )
    if (instrument.mean_over_runs(e.runs, instrument.wait_share) or 0.0) > limits.STEAL_MIND:
        return _interference(e)
    stage, share = _stage(e)
    if stage in ("writing", "reading") and share > 0.5:
        doing = "wrote other requests" if stage == "writing" else "read replies"
        return LateCause(
            f"{percent(share)} of the late requests were scheduled while the client's thread {doing}",
            _more_clients(e),
            {"cause": stage, "stage_share": share},
        )
    if e.plan.pacing == "sleep":
        return LateCause(
            "the clients sleep between sends, because they do not have a CPU each",
            "`--clients 1`, so that it can spin; or a CPU for each client",
            {"cause": "sleeping-clients"},
        )
    return LateCause(
        f"the client was busy only {percent(busy)} of the time, so interference took its CPU",
        "`hindmost host doctor` shows the host's noise; use lower quantiles, or a quieter machine",
        {"cause": "interference", "busy": busy},
    )


def _stage(e: Evidence) -> tuple[str, float]:
    """Return the stage of the loop that made most requests late, and its share of them."""
    late = {
        stage: instrument.mean_over_runs(e.runs, partial(instrument.late_share, stage=stage)) or 0.0
        for stage in ("writing", "reading", "waiting")
    }
    worst = max(late, key=lambda stage: late[stage])
    return worst, late[worst] / sum(late.values()) if late[worst] else 0.0


def _more_clients(e: Evidence) -> str:
    if e.plan.pacing == "sleep":
        return "use a lower `--rate`, or a CPU for each client"
    return f"use a lower `--rate`; or `--clients {e.plan.clients + 1}`, if a CPU is free for it"


def busy(e: Evidence) -> Iterator[Reason]:
    """A client was too busy to be on time."""
    busy = mean([max(client.busy_share for client in run.clients) for run in e.runs])
    if busy > limits.BUSY_MIND and e.plan.loop == "open":
        level: Level = "invalid" if busy > limits.BUSY_INVALID else "note"
        yield Reason(
            "client-busy",
            level,
            f"the busiest client was busy {percent(busy)} of the time; its own queue is visible above"
            f" {percent(limits.BUSY_MIND)} and distorts the tail above {percent(limits.BUSY_INVALID)}",
            _more_clients(e),
            brief=f"the busiest client was busy {percent(busy)} of the time",
            values={"busy": busy, "limit": limits.BUSY_INVALID},
        )
