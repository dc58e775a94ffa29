"""Whether a run was disturbed, and by whom: clocks and counters decide, never latency.

Excluding slow runs, or keeping fast ones, would bias the answer. So nothing that depends on the server's
speed may decide here: lateness is compared with figures that were known before the run (`against`), not with
the latency of the run itself. `hindmost.run.limits` has the limits, and why.

One rule for all studies: a run with more interference than the limits allow (``kind`` is ``host``) is
excluded, kept, counted and shown, and repeated as far as the budget allows (`Remaking`, ``--remake``; at 0
such runs count like all others). Isolated latency needs no such rule: it uses every run that it does not
refuse itself. Comparisons and searches exclude unsound runs for other reasons, too. `run/verdict` decides
what that means for the whole answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hindmost.notes import Note
from hindmost.plan import MeasurePlan
from hindmost.plan.units import format_us
from hindmost.run import instrument, lateness, limits
from hindmost.run.arrivals import least_distance
from hindmost.run.capacity import Culprit, replies_per_s, saturation
from hindmost.run.connections import codes, count_lost, describe_errors
from hindmost.run.figures import RunFigures
from hindmost.run.text import percent
from hindmost.stats.tables import binomial_bounds

Kind = Literal["sound", "host", "client", "errors", "short"]


@dataclass(frozen=True, slots=True)
class Soundness:
    """Whether a run counts.

    ``kind``: ``sound``; ``host``: interference, by counters or by the client's clock; ``client``: the client
    was too busy itself; ``errors``: too many for latencies to mean anything; ``short``: the requested rate
    was not reached, ``carried`` replies a second were, and ``by`` is whose doing that was. ``code``: one of
    ``hindmost.codes.CODES``; ``values``: the parameters of ``why``.
    """

    kind: Kind = "sound"
    why: str = ""
    code: str = ""
    carried: float | None = None
    by: Culprit | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sound(self) -> bool:
        """Whether it counts."""
        return self.kind == "sound"

    @property
    def note(self) -> Note:
        """Why it does not count."""
        return Note(self.code, self.why, self.values)


SOUND = Soundness()


@dataclass(frozen=True, slots=True)
class Remaking:
    """How many runs (or rounds of runs) may be made again because they were not sound.

    Parameters
    ----------
    asked : int
        So many sound ones are wanted.
    share : float
        Of these, how many more may be made in all.
    attempts : int
        How often one run may be made, the first time included.
    """

    asked: int
    share: float = limits.REMAKE
    attempts: int = limits.ATTEMPTS

    @property
    def most(self) -> int:
        """At most so many are made.

        >>> Remaking(10).most, Remaking(3).most, Remaking(10, share=0.0).most
        (15, 5, 10)
        """
        return self.asked + math.ceil(self.share * self.asked)

    def hopeless(self, sound: int, set_aside: int, least: int) -> bool:
        """Whether, sure as 95 % is, the budget will not last until `least` runs are sound.

        >>> Remaking(30).hopeless(0, 5, least=10), Remaking(30).hopeless(0, 9, least=10)
        (False, True)
        """
        if sound >= least or not set_aside:
            return False
        share, _ = binomial_bounds(set_aside, sound + set_aside, 0.95)
        expected = set_aside + (least - sound) * share / (1.0 - share)
        return expected > self.most - self.asked

    def again(self, remade: int, attempts: int = 1) -> bool:
        """Whether one that was made `attempts` times may be made again, after `remade` such in all."""
        return self.asked + remade < self.most and attempts < self.attempts


def soundness(
    run: RunFigures,
    plan: MeasurePlan,
    *,
    against: Mapping[str, float] | None = None,
    errors_judged: bool = False,
) -> Soundness:
    """Judge one run.

    Parameters
    ----------
    run : RunFigures
        What was measured.
    plan : MeasurePlan
        What was asked.
    against : mapping, optional
        Figure (``p99``, ``mean``) to microseconds that stood before the run, such as an objective's limits: a
        lateness that is a large share of one disturbs what is asked of it.
    errors_judged : bool
        The share of errors is itself what is asked for, so that they disturb nothing.
    """
    for found in _findings(run, plan, against or {}, errors_judged=errors_judged):
        if found.kind != "host" or plan.remake:
            return found
    return SOUND


def _findings(
    run: RunFigures, plan: MeasurePlan, against: Mapping[str, float], *, errors_judged: bool
) -> Iterator[Soundness]:
    """In this order: the kernel's counters of the host; what the server did; what the client's clock says."""
    yield from _taken(run)
    full = saturation(plan, run.record["target"], [run])
    if full is not None:
        yield Soundness(
            "short", full.text, "rate-not-reached", replies_per_s(run, plan), full.by, full.values()
        )
    if not errors_judged and (found := _errors(run)):
        yield found
    for look in _LOOKS:
        yield from look(run, plan, against)


def _errors(run: RunFigures) -> Soundness | None:
    share = run.counts["errors"] / max(1, run.counts["due"])
    if share <= limits.ERROR_INCONCLUSIVE:
        return None
    which = describe_errors(codes([run]), count_lost([run]))
    text = f"{run.counts['errors']} requests ({percent(share)}) failed" + (f": {which}" if which else "")
    return Soundness("errors", text, "errors", values={"errors": run.counts["errors"], "share": share})


def _by_itself(run: RunFigures, plan: MeasurePlan) -> bool:
    """Whether a client that was late had itself to blame."""
    return (instrument.busy_share(run) or 0.0) > limits.BUSY_MIND or plan.pacing == "sleep"


def _busy(run: RunFigures, plan: MeasurePlan, against: Mapping[str, float]) -> Iterator[Soundness]:
    busy = instrument.busy_share(run) or 0.0
    if busy > limits.BUSY_INVALID and plan.loop == "open":
        text = f"the busiest client worked {percent(busy)} of the time"
        yield Soundness("client", text, "client-busy", values={"busy": busy})


def _late(run: RunFigures, plan: MeasurePlan, against: Mapping[str, float]) -> Iterator[Soundness]:
    """Late by more than a tenth of a figure that stood before."""
    if plan.loop == "closed":
        return
    for name, us in against.items():
        late = run.values["slip"].get(name, 0.0)
        if lateness.matters(late, us):
            yield Soundness(
                "client" if _by_itself(run, plan) else "host",
                f"requests were sent late: {name} of send delay is {format_us(late)}, and latency at"
                f" {name} is compared with {format_us(us)}",
                "late-sends",
                values={"name": name, "late_us": late, "latency_us": us},
            )


def _away(run: RunFigures, plan: MeasurePlan, against: Mapping[str, float]) -> Iterator[Soundness]:
    """A spinning client was away too often; what its own write calls make late is in all runs alike."""
    if against or plan.pacing == "sleep" or plan.loop == "closed":
        return
    share, slip = instrument.late_share(run, "waiting") or 0.0, instrument.own_slip(run) or 0.0
    if share > limits.AWAY and slip > limits.AWAY_US:
        yield Soundness(
            "host",
            f"{percent(share)} of requests were sent late because the client was off its CPU; its own writes"
            f" do not explain {format_us(slip)} of send delay at p99",
            "late-sends",
            values={"share": share, "name": "p99", "late_us": slip},
        )


def _arrivals(run: RunFigures, plan: MeasurePlan, against: Mapping[str, float]) -> Iterator[Soundness]:
    known = [least_distance(one.arrivals) for one in run.instances if one.arrivals is not None]
    far = [distance for distance in known if distance is not None]
    if far and (mean := sum(far) / len(far)) > limits.ARRIVALS_INVALID:
        yield Soundness(
            "client" if _by_itself(run, plan) else "host",
            "actual send times deviate from the requested arrival process: Kolmogorov distance of their gaps"
            f" is at least {mean:.3f}",
            "arrivals-differ",
            values={"distance": mean},
        )


def _taken(run: RunFigures) -> Iterator[Soundness]:
    """Somebody else had a processor of ours; what the server under test took is its own affair."""
    stolen, waited = instrument.steal_share(run) or 0.0, instrument.interference_share(run) or 0.0
    stopped = instrument.throttled_share(run) or 0.0
    if stolen > limits.STEAL_INCONCLUSIVE:
        text = f"the hypervisor used {percent(stolen)} of a CPU in use"
        yield Soundness("host", text, "steal-time", values={"share": stolen, "by": "hypervisor"})
    if (seen := _left_in(run)) > limits.STEAL_INCONCLUSIVE:
        text = (
            f"interference used {percent(seen)} of the server's CPUs, and isolated latency cannot exclude it"
        )
        yield Soundness("host", text, "steal-time", values={"share": seen, "by": "sentinel"})
    if waited > limits.DELAYED:
        text = f"other processes used {percent(waited)} of the client's CPU"
        yield Soundness("host", text, "run-delay", values={"share": waited})
    if stopped > limits.THROTTLED_INCONCLUSIVE:
        text = f"a cgroup's CPU quota stopped a client in {percent(stopped)} of its periods"
        yield Soundness("host", text, "throttled", values={"share": stopped})


def _left_in(run: RunFigures) -> float:
    """Share of the time that the sentinel saw taken from the server, where calm latency is refused; 0 else.

    What was taken from a client shows in its own counters and clock.
    """
    calm = run.calm
    if calm is None or calm.refused is None or math.isnan(calm.from_server):
        return 0.0
    return calm.from_server


_LOOKS: tuple[Callable[[RunFigures, MeasurePlan, Mapping[str, float]], Iterator[Soundness]], ...] = (
    _busy,
    _late,
    _away,
    _arrivals,
)
"""In this order: what the client did to itself, what its clock says."""
