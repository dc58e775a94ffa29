"""Whether a run was disturbed, and by whom: told by clocks and counters of host and client, never by latency.

A run that is left out for being slow, or kept for being fast, bends the answer. So nothing that the server's
speed decides may decide here: a lateness is compared with figures that stood before the run (`against`), not
with the latency of the run itself. Limits and their reasons: `limits`.

One rule for all studies: a run from which the host took more than the limits allow (``kind`` is ``host``) is
set aside, kept, counted and shown, and another is made in its place, as far as the budget goes (`Remaking`,
``--remake``; at 0 such runs count like all others). Calm latency needs no such rule: it takes every run that
it does not refuse by itself. What compares, decides or searches leaves out what is not sound for other
reasons, too. What `invalid` and `inconclusive` say of the whole answer is the matter of `run/verdict`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hindmost.plan import MeasurePlan
from hindmost.plan.units import format_us
from hindmost.run import instrument, lateness, limits
from hindmost.run.arrivals import beyond_chance
from hindmost.run.capacity import replies_per_s, saturation
from hindmost.run.connections import codes, failed, lost
from hindmost.run.figures import RunFigures
from hindmost.stats.tables import binomial_bounds

Kind = Literal["sound", "host", "client", "errors", "short"]


@dataclass(frozen=True, slots=True)
class Soundness:
    """What a run is worth.

    ``kind``: ``sound``; ``host``: processors were taken away, or the client's clock says so; ``client``: it
    was too busy itself;
    ``errors``: too many for latencies to mean anything; ``short``: the asked rate was not carried,
    ``carried`` replies a second were. ``code``: which limit was passed; of a ``short`` run by whom
    (`capacity.Culprit`).
    """

    kind: Kind = "sound"
    why: str = ""
    code: str | None = None
    carried: float | None = None

    @property
    def sound(self) -> bool:
        """Whether it counts."""
        return self.kind == "sound"


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
        yield Soundness("short", full.text, full.by, replies_per_s(run, plan))
    if not errors_judged and (found := _errors(run)):
        yield found
    for look in _LOOKS:
        yield from look(run, plan, against)


def _errors(run: RunFigures) -> Soundness | None:
    share = run.counts["errors"] / max(1, run.counts["due"])
    if share <= limits.ERROR_INCONCLUSIVE:
        return None
    which = failed(codes([run]), lost([run]))
    text = f"{run.counts['errors']} requests ({share:.2%}) failed" + (f": {which}" if which else "")
    return Soundness("errors", text, "errors")


def _by_itself(run: RunFigures, plan: MeasurePlan) -> bool:
    """Whether a client that was late had itself to blame."""
    return (instrument.working(run) or 0.0) > limits.BUSY_MIND or plan.pacing == "sleep"


def _busy(run: RunFigures, plan: MeasurePlan, against: Mapping[str, float]) -> Iterator[Soundness]:
    busy = instrument.working(run) or 0.0
    if busy > limits.BUSY_INVALID and plan.loop == "open":
        yield Soundness("client", f"the busiest client worked {busy:.0%} of the time", "client_busy")


def _late(run: RunFigures, plan: MeasurePlan, against: Mapping[str, float]) -> Iterator[Soundness]:
    """Late by more than a tenth of a figure that stood before."""
    if plan.loop == "closed":
        return
    for name, us in against.items():
        late = run.values["slip"].get(name, 0.0)
        if lateness.matters(late, us):
            yield Soundness(
                "client" if _by_itself(run, plan) else "host",
                f"requests left late: {name} of their slip is {format_us(late)}, beside {format_us(us)} that"
                f" {name} of the latency is compared with",
                "slip",
            )


def _away(run: RunFigures, plan: MeasurePlan, against: Mapping[str, float]) -> Iterator[Soundness]:
    """A spinning client was away too often; what its own write calls make late is in all runs alike."""
    if against or plan.pacing == "sleep" or plan.loop == "closed":
        return
    share, slip = instrument.late(run, "waiting") or 0.0, instrument.own_slip(run) or 0.0
    if share > limits.AWAY and slip > limits.AWAY_US:
        yield Soundness(
            "host",
            f"{share:.1%} of requests left late because the client's processor was away; its slip at p99 is"
            f" {format_us(slip)} beyond what its own write calls make",
            "slip",
        )


def _arrivals(run: RunFigures, plan: MeasurePlan, against: Mapping[str, float]) -> Iterator[Soundness]:
    known = [beyond_chance(one.arrivals) for one in run.instances if one.arrivals is not None]
    far = [distance for distance in known if distance is not None]
    if far and (mean := sum(far) / len(far)) > limits.ARRIVALS_INVALID:
        yield Soundness(
            "client" if _by_itself(run, plan) else "host",
            f"requests did not leave as ordered: Kolmogorov distance of their gaps at least {mean:.3f}",
            "arrivals",
        )


def _taken(run: RunFigures) -> Iterator[Soundness]:
    """Somebody else had a processor of ours; what the server under test took is its own affair."""
    stolen, waited = instrument.stolen(run) or 0.0, instrument.kept_off(run) or 0.0
    stopped = instrument.throttled(run) or 0.0
    if stolen > limits.STEAL_INCONCLUSIVE:
        yield Soundness("host", f"the hypervisor took {stolen:.2%} of a processor in use", "steal")
    if (seen := _left_in(run)) > limits.STEAL_INCONCLUSIVE:
        text = f"others took {seen:.2%} of the server's processors, and calm latency cannot take it out"
        yield Soundness("host", text, "steal")
    if waited > limits.DELAYED:
        text = f"others had the client's processor for {waited:.2%} of the time"
        yield Soundness("host", text, "run_delay")
    if stopped > limits.THROTTLED_INCONCLUSIVE:
        text = f"the control group's CPU quota stopped a client in {stopped:.2%} of its periods"
        yield Soundness("host", text, "throttled")


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
