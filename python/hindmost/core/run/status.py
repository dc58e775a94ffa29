"""Whether a run counts, and if not, why. Clocks and counters decide, never latency.

Excluding slow runs, or keeping fast ones, would bias the result. So nothing that depends on the server's
speed may decide here: send delay is compared with figures known before the run (`against`), not with the
latency of the run itself. `hindmost.core.run.limits` has the limits and their reasons.

One rule holds for all studies: a run with more interference than the limits allow (``kind`` is ``host``) is
excluded. It is kept, counted and shown, and repeated as far as the budget allows (`RepeatBudget`,
``--remake``; with 0, such runs count like all others). Isolated latency needs no such rule: it uses every run
that it does not refuse itself, and so does a comparison that it decides (``isolated``). Comparisons and
searches exclude runs for other reasons too. `run/verdict` decides what that means for the whole result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.units import format_us
from hindmost.core.run import instrument, lateness, limits
from hindmost.core.run.arrivals import least_distance
from hindmost.core.run.capacity import Culprit, replies_per_s, saturation
from hindmost.core.run.connections import codes, count_lost, describe_errors
from hindmost.core.run.figures import RunFigures
from hindmost.core.run.text import percent
from hindmost.stats.tables import binomial_bounds

Kind = Literal["counted", "host", "client", "errors", "short"]


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Whether a run counts.

    ``kind``: ``counted``; ``host``: interference, by counters or by the client's clock; ``client``: the
    client was too busy itself; ``errors``: too many for latencies to mean anything; ``short``: the requested
    rate was not reached. ``carried`` is then the replies per second, and ``by`` the cause. ``code``: one of
    ``hindmost.core.codes.CODES``; ``values``: the parameters of ``why``.
    """

    kind: Kind = "counted"
    why: str = ""
    code: str = ""
    carried: float | None = None
    by: Culprit | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        """Whether the run counts."""
        return self.kind == "counted"

    @property
    def note(self) -> Note:
        """The reason it does not count."""
        return Note(self.code, self.why, self.values)


COUNTED = RunStatus()
LEFT_OUT_BY_ISOLATED = ("steal-time", "run-delay", "late-sends")
"""Codes of interference that isolated latency leaves out."""


@dataclass(frozen=True, slots=True)
class RepeatBudget:
    """How many excluded runs (or rounds of runs) may be repeated.

    Parameters
    ----------
    requested : int
        Number of valid runs wanted.
    share : float
        Repeats allowed in all, as a share of the requested runs.
    attempts : int
        How often one run may be made, including the first time.
    """

    requested: int
    share: float = limits.REMAKE
    attempts: int = limits.ATTEMPTS

    @property
    def most(self) -> int:
        """The most runs made in all.

        >>> RepeatBudget(10).most, RepeatBudget(3).most, RepeatBudget(10, share=0.0).most
        (15, 5, 10)
        """
        return self.requested + math.ceil(self.share * self.requested)

    def cannot_suffice(self, counted: int, excluded: int, least: int) -> bool:
        """Whether, with 95 % confidence, the budget will be spent before `least` runs count.

        >>> RepeatBudget(30).cannot_suffice(0, 5, least=10), RepeatBudget(30).cannot_suffice(0, 9, least=10)
        (False, True)
        """
        if counted >= least or not excluded:
            return False
        share, _ = binomial_bounds(excluded, counted + excluded, 0.95)
        expected = excluded + (least - counted) * share / (1.0 - share)
        return expected > self.most - self.requested

    def allows_repeat(self, repeated: int, attempts: int = 1) -> bool:
        """Whether a run made `attempts` times may be repeated, after `repeated` repeats in all."""
        return self.requested + repeated < self.most and attempts < self.attempts


def status(
    run: RunFigures,
    plan: MeasurePlan,
    *,
    against: Mapping[str, float] | None = None,
    errors_judged: bool = False,
    isolated: bool = False,
) -> RunStatus:
    """Decide whether one run counts.

    Parameters
    ----------
    run : RunFigures
        The run.
    plan : MeasurePlan
        Its plan.
    against : mapping, optional
        Figures (``p99``, ``mean``) in microseconds known before the run, such as an objective's limits. Send
        delay that is a large share of one disqualifies the run.
    errors_judged : bool
        The study's question is the share of errors, so errors do not disqualify a run.
    isolated : bool
        The study is decided by isolated latency, so interference disqualifies no run that has it.
    """
    for finding in _findings(run, plan, against or {}, errors_judged=errors_judged):
        left_out = isolated and finding.code in LEFT_OUT_BY_ISOLATED and _has_isolated(run)
        if finding.kind != "host" or (plan.remake and not left_out):
            return finding
    return COUNTED


def _has_isolated(run: RunFigures) -> bool:
    return run.isolated is not None and run.isolated.refused is None and bool(run.isolated.values)


def _findings(
    run: RunFigures, plan: MeasurePlan, against: Mapping[str, float], *, errors_judged: bool
) -> Iterator[RunStatus]:
    """Yield findings in this order: the kernel's counters, the server's replies, the client's clock."""
    yield from _interference(run)
    full = saturation(plan, run.record.target, [run])
    if full is not None:
        yield RunStatus(
            "short", full.text, "rate-not-reached", replies_per_s(run, plan), full.by, full.values()
        )
    if not errors_judged and (errors := _errors(run)):
        yield errors
    for check in _CHECKS:
        yield from check(run, plan, against)


def _errors(run: RunFigures) -> RunStatus | None:
    share = run.counts.errors / max(1, run.counts.scheduled)
    if share <= limits.ERROR_INCONCLUSIVE:
        return None
    which = describe_errors(codes([run]), count_lost([run]))
    text = f"{run.counts.errors} requests ({percent(share)}) failed" + (f": {which}" if which else "")
    return RunStatus("errors", text, "errors", values={"errors": run.counts.errors, "share": share})


def _is_own_fault(run: RunFigures, plan: MeasurePlan) -> bool:
    """Whether a late client caused its lateness itself."""
    return (instrument.busy_share(run) or 0.0) > limits.BUSY_MIND or plan.pacing == "sleep"


def _busy(run: RunFigures, plan: MeasurePlan, against: Mapping[str, float]) -> Iterator[RunStatus]:
    busy = instrument.busy_share(run) or 0.0
    if busy > limits.BUSY_INVALID and plan.loop == "open":
        text = f"the busiest client was busy {percent(busy)} of the time"
        yield RunStatus("client", text, "client-busy", values={"busy": busy})


def _late(run: RunFigures, plan: MeasurePlan, against: Mapping[str, float]) -> Iterator[RunStatus]:
    """Send delay is more than a tenth of a figure known before the run."""
    if plan.loop == "closed":
        return
    for name, us in against.items():
        late = run.values["send_delay"].get(name, 0.0)
        if lateness.matters(late, us):
            yield RunStatus(
                "client" if _is_own_fault(run, plan) else "host",
                f"requests were sent late: {name} of send delay is {format_us(late)}, and latency at"
                f" {name} is compared with {format_us(us)}",
                "late-sends",
                values={"name": name, "late_us": late, "latency_us": us},
            )


def _away(run: RunFigures, plan: MeasurePlan, against: Mapping[str, float]) -> Iterator[RunStatus]:
    """A spinning client was preempted too often; the delay of its own write calls is the same in all runs."""
    if against or plan.pacing == "sleep" or plan.loop == "closed":
        return
    share, send_delay = instrument.late_share(run, "waiting") or 0.0, instrument.own_send_delay(run) or 0.0
    if share > limits.AWAY and send_delay > limits.AWAY_US:
        yield RunStatus(
            "host",
            f"{percent(share)} of requests were sent late because the client was off its CPU; its own writes"
            f" do not explain {format_us(send_delay)} of send delay at p99",
            "late-sends",
            values={"share": share, "name": "p99", "late_us": send_delay},
        )


def _arrivals(run: RunFigures, plan: MeasurePlan, against: Mapping[str, float]) -> Iterator[RunStatus]:
    distances = [least_distance(client.arrivals) for client in run.clients if client.arrivals is not None]
    far = [distance for distance in distances if distance is not None]
    if far and (mean := sum(far) / len(far)) > limits.ARRIVALS_INVALID:
        yield RunStatus(
            "client" if _is_own_fault(run, plan) else "host",
            "actual send times deviate from the requested arrival process: Kolmogorov distance of their gaps"
            f" is at least {mean:.3f}",
            "arrivals-differ",
            values={"distance": mean},
        )


def _interference(run: RunFigures) -> Iterator[RunStatus]:
    """Others used a client's or the server's CPU; the server's own use does not count."""
    stolen, waited = instrument.steal_share(run) or 0.0, instrument.interference_share(run) or 0.0
    stopped = instrument.throttled_share(run) or 0.0
    if stolen > limits.STEAL_INCONCLUSIVE:
        text = f"the hypervisor used {percent(stolen)} of a CPU in use"
        yield RunStatus("host", text, "steal-time", values={"share": stolen, "by": "hypervisor"})
    if (seen := _unremoved_interference(run)) > limits.STEAL_INCONCLUSIVE:
        text = (
            f"interference used {percent(seen)} of the server's CPUs, and isolated latency cannot exclude it"
        )
        yield RunStatus("host", text, "steal-time", values={"share": seen, "by": "sentinel"})
    if waited > limits.DELAYED:
        text = f"other processes used {percent(waited)} of the client's CPU"
        yield RunStatus("host", text, "run-delay", values={"share": waited})
    if stopped > limits.THROTTLED_INCONCLUSIVE:
        text = f"a cgroup's CPU quota stopped a client in {percent(stopped)} of its periods"
        yield RunStatus("host", text, "throttled", values={"share": stopped})


def _unremoved_interference(run: RunFigures) -> float:
    """Return the interference on the server's CPUs, if isolated latency cannot remove it; else 0.

    Interference on a client shows in its own counters and clock.
    """
    isolated = run.isolated
    if isolated is None or isolated.refused is None or math.isnan(isolated.from_server):
        return 0.0
    return isolated.from_server


_CHECKS: tuple[Callable[[RunFigures, MeasurePlan, Mapping[str, float]], Iterator[RunStatus]], ...] = (
    _busy,
    _late,
    _away,
    _arrivals,
)
"""In this order: the client's own load, then its clock."""
