"""Whether the instrument distorted what it measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from hindmost.plan.units import format_us
from hindmost.run import instrument, limits
from hindmost.run.figures import RunFigures
from hindmost.run.lateness import matters
from hindmost.run.sharing import A_PROCESSOR_EACH, cpus_named, shared_cpus
from hindmost.run.standstill import standstills
from hindmost.run.verdict import accidents
from hindmost.run.verdict.reason import Evidence, Level, Origin, Reason, listed, mean
from hindmost.run.verdict.taken import explains, taken
from hindmost.stats import Middle, over_runs


@dataclass(frozen=True, slots=True)
class Lateness:
    """A latency quantile of the table, and what of it comes from sending late.

    ``late_us`` is it less the service latency that stands beside it.
    """

    name: str
    latency_us: float
    late_us: float

    @property
    def share(self) -> float:
        """Of the latency."""
        return self.late_us / self.latency_us

    @property
    def matters(self) -> bool:
        """Whether it is more than a tenth, and more than a quiet host's noise."""
        return matters(self.late_us, self.latency_us)


def lateness(runs: Sequence[RunFigures], name: str, about: Middle) -> Lateness | None:
    """Of the figure that the table shows of these runs; None where it is infinite."""
    latency, service = (
        over_runs([run.values[what][name] for run in runs], about).value for what in ("latency", "service")
    )
    if not math.isfinite(latency) or latency <= 0.0 or not math.isfinite(service):
        return None
    return Lateness(name, latency, max(0.0, latency - service))


def late(e: Evidence) -> Iterator[Reason]:
    """Requests that left late carry a quantile."""
    if e.plan.loop == "closed":
        return
    busy = max(one.busy_share for run in e.runs for one in run.instances)
    # After a server's silence many replies are read at once, and requests leave late because of it.
    running = [run for run in e.runs if not standstills(run, e.plan)] or e.runs
    found = []
    for name in e.plan.labels:
        one, undisturbed = (lateness(runs, name, e.plan.middle) for runs in (e.runs, running))
        if one is not None and one.matters and undisturbed is not None and undisturbed.matters:
            found.append(one)
    of_host = [one for one in found if explains(e, one.name)]
    own = [one for one in found if one not in of_host]
    if own:
        yield _late(e, own, "invalid", None, *cause_of_lateness(e, busy))
    if of_host:
        yield _late(e, of_host, "inconclusive", "host", *_theft(e))


def _late(
    e: Evidence, found: Sequence[Lateness], level: Level, origin: Origin | None, cause: str, hint: str
) -> Reason:
    worst = max(found, key=lambda one: one.share)
    names = tuple(one.name for one in found)
    return Reason(
        "slip",
        level,
        f"{listed(names)} tell{'s' if len(names) == 1 else ''} of late sending: requests left late, which"
        f" makes {format_us(worst.late_us)} of {worst.name}, {format_us(worst.latency_us)}"
        f" ({worst.share:.0%}; {limits.LATENESS:.0%} is the limit); {cause}",
        hint,
        names,
        origin or "client",
        f"requests left late ({worst.share:.0%} of {worst.name})",
    )


def _theft(e: Evidence) -> tuple[str, str]:
    """The host's part in late sending, and what helps."""
    took = taken(e, whole=False)
    if took.programs >= took.hypervisor and took.programs > limits.STEAL_MIND:
        neighbours = instrument.neighbours(e.runs)
        return (
            f"others had the client's processor for {took.programs:.1%} of the time:"
            f" {accidents.who(neighbours)}",
            accidents.keep_off(e, neighbours),
        )
    return (
        f"the host took the client's processor{f': {took.text}' if took.text else ''}",
        "`hindmost doctor` shows the host's noise; ask for lower quantiles, or use a quieter machine",
    )


def cause_of_lateness(e: Evidence, busy: float) -> tuple[str, str]:
    """Why requests left late, and what helps."""
    if shared := shared_cpus(e.plan, e.target.get("cpus") or ()):
        return (
            f"server and client share {cpus_named(shared)}: while one works, the other waits",
            A_PROCESSOR_EACH,
        )
    if busy > limits.BUSY_MIND:
        return (
            f"a client was busy {busy:.0%} of the time",
            _more_clients(e),
        )
    if (instrument.over(e.runs, instrument.waiting) or 0.0) > limits.STEAL_MIND:
        return _theft(e)
    stage, share = _stage(e)
    if stage in ("writing", "reading") and share > 0.5:
        doing = "others were handed to the kernel" if stage == "writing" else "replies were taken"
        return (
            f"{share:.0%} of the late ones fell due while {doing}: one thread does one thing at a time",
            _more_clients(e),
        )
    if e.plan.pacing == "sleep":
        return (
            "the clients sleep between due times, for want of a processor each",
            "`--clients 1`, so that it can spin; or a processor for each client",
        )
    return (
        f"the client was busy only {busy:.0%} of the time, so the host took its processor away",
        "`hindmost doctor` shows the host's noise; ask for lower quantiles, or use a quieter machine",
    )


def _stage(e: Evidence) -> tuple[str, float]:
    """The stage of the loop that made most requests late, and its share of them."""
    late = {
        stage: instrument.over(e.runs, partial(instrument.late, stage=stage)) or 0.0
        for stage in ("writing", "reading", "waiting")
    }
    worst = max(late, key=lambda stage: late[stage])
    return worst, late[worst] / sum(late.values()) if late[worst] else 0.0


def _more_clients(e: Evidence) -> str:
    if e.plan.pacing == "sleep":
        return "a lower `--rate`, or a processor for each client"
    return f"a lower `--rate`; or `--clients {e.plan.clients + 1}`, if there is a processor for it"


def busy(e: Evidence) -> Iterator[Reason]:
    """A client was too busy to be on time."""
    busy = mean([max(one.busy_share for one in run.instances) for run in e.runs])
    if busy > limits.BUSY_MIND and e.plan.loop == "open":
        level: Level = "invalid" if busy > limits.BUSY_INVALID else "mind"
        yield Reason(
            "client_busy",
            level,
            f"the busiest client worked {busy:.0%} of the time; above {limits.BUSY_INVALID:.0%} its own queue"
            f" distorts the tail, above {limits.BUSY_MIND:.0%} it can be seen",
            _more_clients(e),
            brief=f"the busiest client worked {busy:.0%} of the time",
        )
