"""Decision from switch-back experiments on a replica: which suspect makes it as slow as the host.

::

    replica without | replica with    effect c: change of the percentile by the suspect's dose
    host normal     | host now        anomaly a: the slowdown to explain

    share r = c / a    reproduced: lower bound above 0.3, point within 0.6 and 1.6, and the percentile
                       within a factor of the host's; ruled out: upper bound below 0.6, or another signature

The comparison uses shifts, not levels, because no replica is exactly like the host. Not rejected is not the
same as reproduced.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hindmost.core.notes import Note
from hindmost.stats.causes.decision import Gates, few_pairs, no_slowdown, other_side, sham_effect
from hindmost.stats.causes.signature import Signature
from hindmost.stats.causes.switchback import Effect, pairs_needed

MOST_SHARE = 1.6
REACH = 10.0
"""Largest ratio of the replica's percentile with the suspect to the slow host's, in either direction. Shifts
count, not levels; but a percentile ten times lower is a different phenomenon, whatever its ratio.
"""
HEALTHY = 0.5
"""Share of the anomaly's logarithm. A replica that is this slow without a suspect shares the host's cause."""

Outcome = Literal["reproduced", "unknown factor", "inconclusive", "void", "shared"]
State = Literal["reproduces", "too much", "ruled out", "part", "open", "other signature"]


@dataclass(frozen=True, slots=True)
class DoseEffect:
    """Evidence of a suspect's dose on the replica. `reach` is the percentile with it over the slow host's."""

    name: str
    effect: Effect
    share: float
    low: float
    high: float
    reach: float
    state: State


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The outcome. `also`: other suspects whose signature is not clearly farther than the leader's."""

    outcome: Outcome
    leader: str | None
    also: tuple[str, ...]
    arms: tuple[DoseEffect, ...]
    pairs: int | None
    note: Note

    @property
    def why(self) -> str:
        """The note's sentence."""
        return self.note.text


def reproduction_of(
    doses: Mapping[str, Effect],
    with_us: Mapping[str, float],
    sham: Effect,
    host: tuple[float, float],
    base_us: float,
    gates: Gates | None = None,
    signatures: Mapping[str, Signature] | None = None,
) -> Reproduction:
    """Rule on doses that were each applied to a replica and removed repeatedly.

    Parameters
    ----------
    doses : mapping
        Effect of applying each dose, by name.
    with_us : mapping
        The replica's percentile with each dose, in microseconds.
    sham : Effect
        Effect of an empty dose.
    host : (float, float)
        The slow host's percentile, now and normally, in microseconds.
    base_us : float
        The replica's percentile without any dose, in microseconds.
    signatures : mapping
        Signatures of doses, if known. An undecided signature leaves the case open.
    """
    gates, signatures = gates or Gates(), signatures or {}
    now_us, normal_us = host
    anomaly, level = math.log(now_us / normal_us), gates.alpha / gates.looks
    if anomaly < math.log(gates.least_ratio):
        return Reproduction("inconclusive", None, (), (), None, no_slowdown(anomaly, gates))
    if min(sham.p, other_side(sham)) < gates.sham_alpha / gates.looks:
        return Reproduction("void", None, (), (), None, sham_effect(sham))
    order = sorted(doses, key=lambda name: doses[name].p)
    passed: set[str] = set()
    for place, name in enumerate(order):
        if doses[name].p > level / (len(order) - place):
            break
        passed.add(name)
    arms = [
        _dose_effect(name, one, with_us[name] / now_us, anomaly, name in passed, gates, signatures.get(name))
        for name, one in doses.items()
    ]
    arms.sort(key=lambda arm: (arm.state != "reproduces", _distance(arm, signatures.get(arm.name))))
    if math.log(base_us / normal_us) > HEALTHY * anomaly:
        text = (
            f"the replica takes {base_us:.0f} µs without any suspect, so it shares the cause with the host"
            " (neighbours, interrupts, network)"
        )
        note = Note("slow-replica", text, {"value": base_us, "unit": "us"})
        return Reproduction("shared", None, (), tuple(arms), None, note)
    return _decide(arms, sham, anomaly, gates, signatures)


def _decide(
    arms: list[DoseEffect],
    sham: Effect,
    anomaly: float,
    gates: Gates,
    signatures: Mapping[str, Signature],
) -> Reproduction:
    same = [arm for arm in arms if arm.state == "reproduces"]
    if same:
        leader, *rest = same
        near = signatures.get(leader.name)
        also = tuple(arm.name for arm in rest if not _beats(near, signatures.get(arm.name)))
        text = (
            f"with {leader.name} the replica is {math.exp(leader.effect.log):.2f} times slower:"
            f" {leader.share:.0%} ({leader.low:.0%} to {leader.high:.0%}) of the slowdown"
        )
        note = Note("reproduced", text, _values(leader))
        return Reproduction("reproduced", leader.name, also, tuple(arms), None, note)
    if arms and all(arm.state in ("ruled out", "part", "other signature") for arm in arms):
        shown = "; ".join(f"{arm.name} {arm.share:.0%} ({arm.low:.0%} to {arm.high:.0%})" for arm in arms)
        text = f"no suspect makes the replica as slow as the host: {shown}"
        note = Note("not-reproduced", text, {"names": [arm.name for arm in arms]})
        return Reproduction("unknown factor", None, (), tuple(arms), None, note)
    if not arms:
        return Reproduction("inconclusive", None, (), (), None, no_suspect())
    if short := [arm for arm in arms if arm.state == "open" and arm.low > gates.share_low]:
        most = max(short, key=lambda arm: arm.share)
        text = (
            f"with {most.name} the replica is {math.exp(most.effect.log):.2f} times slower, but reaches only"
            f" {most.reach:.0%} of the host's latency, or other metrics moved"
        )
        note = Note("partly-reproduced", text, _values(most))
        return Reproduction("inconclusive", most.name, (), tuple(arms), None, note)
    if excess := [arm for arm in arms if arm.state == "too much"]:
        text = f"{excess[0].name} makes the replica far slower than the host: the dose is too large"
        note = Note("dose-too-large", text, _values(excess[0]))
        return Reproduction("inconclusive", None, (), tuple(arms), None, note)
    spread = max(sham.spread, *(arm.effect.spread for arm in arms))
    pairs = pairs_needed(spread, gates.share_low * anomaly, gates.alpha / gates.looks)
    return Reproduction("inconclusive", None, (), tuple(arms), pairs, few_pairs(spread, pairs))


def no_suspect() -> Note:
    """Return the note that no suspect can be tested on the replica."""
    return Note("no-suspect", "no suspect can be tested on the replica")


def _values(arm: DoseEffect) -> dict[str, Any]:
    return {
        "name": arm.name,
        "ratio": math.exp(arm.effect.log),
        "share": arm.share,
        "low": arm.low,
        "high": arm.high,
        "reach": arm.reach,
    }


def _dose_effect(
    name: str,
    effect: Effect,
    reach: float,
    anomaly: float,
    passed: bool,
    gates: Gates,
    signature: Signature | None,
) -> DoseEffect:
    level = gates.alpha / gates.looks
    share, low, high = (
        value / anomaly for value in (effect.log, effect.bound(level), effect.bound(1 - level))
    )
    known = signature is not None and not signature.why
    state: State = "open"
    if high < gates.share_out:
        state = "part" if passed else "ruled out"
    elif known and signature is not None and signature.fits is False:
        state = "other signature"
    elif passed and low > gates.share_low and share >= gates.share_out:
        if share > MOST_SHARE or not 1 / REACH <= reach <= REACH:
            state = "too much" if share > 1.0 else "open"
        elif not known or (signature is not None and signature.fits):
            state = "reproduces"
    return DoseEffect(name, effect, share, low, high, reach, state)


def _distance(arm: DoseEffect, signature: Signature | None) -> float:
    """Return the sort key of the nearest suspect: by signature if known, else by latency."""
    if signature is not None and not signature.why:
        return signature.residual
    return 1.0 + abs(arm.share - 1.0)


def _beats(leader: Signature | None, rival: Signature | None) -> bool:
    """Return whether a leader's signature is certainly nearer than a rival's."""
    return (
        leader is not None
        and rival is not None
        and not leader.why
        and not rival.why
        and leader.high < rival.low
    )
