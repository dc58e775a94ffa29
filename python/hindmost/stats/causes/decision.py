"""Decision from switch-back experiments: cause, unknown factor or inconclusive.

The paper's printed rule is reversed: it takes "not rejected" for "the cause". Then few samples accept every
suspect, and many samples reject the true one. Here a suspect must *show* its share of the slowdown. A suspect
is ruled out only if its share is shown to be small. Everything else is inconclusive.

::

    share r = log ratio with/without the suspect, over log ratio now/normal of the anomaly

    0 ........ 0.3 ............ 0.6 ............ 1 ........ 1.6
              lower bound above: explains       upper bound below 0.6: ruled out

A suspect that explains (nearly) all of the latency must also explain the metrics that moved with it, if they
are known. Otherwise both have another cause, or latency recovered for another reason (`signature.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hindmost.core.notes import Note
from hindmost.stats.causes.signature import Signature
from hindmost.stats.causes.switchback import Effect, pairs_needed

Ruling = Literal["cause", "unknown factor", "inconclusive", "void"]
State = Literal["explains", "part", "ruled out", "open", "normal load", "load", "beyond", "other signature"]


@dataclass(frozen=True, slots=True)
class Gates:
    """Thresholds of the decision.

    Attributes
    ----------
    alpha : float
        Family-wise error rate, over suspects and looks.
    looks : int
        Number of looks that share alpha.
    share_low : float
        A cause's share must exceed this at confidence ``1 - alpha``.
    share_out : float
        A suspect with a share below this is ruled out, at the same confidence.
    least_ratio : float
        Smallest ratio with/without of a cause. A smaller effect is no cause, however certain.
    sham_alpha : float
        Below this p-value the sham has an effect, and no result is trusted.
    most_share : float
        If removing a suspect certainly makes latency that much lower than normal, it removes something else:
        load.
    whole : float
        A share above this is about the whole anomaly, so its signature must agree. Below it, another cause
        remains, and so does its signature.
    """

    alpha: float = 0.02
    looks: int = 3
    share_low: float = 0.3
    share_out: float = 0.6
    least_ratio: float = 1.15
    sham_alpha: float = 0.01
    most_share: float = 1.5
    whole: float = 0.75


@dataclass(frozen=True, slots=True)
class Arm:
    """One suspect's evidence: its `share` of the anomaly with bounds (NaN if the anomaly is unknown)."""

    name: str
    effect: Effect
    share: float
    low: float
    high: float
    state: State


@dataclass(frozen=True, slots=True)
class Decision:
    """The ruling and its evidence.

    Attributes
    ----------
    ruling : str
    leader : str or None
        The cause. For an inconclusive ruling, the leading suspect.
    arms : tuple of Arm
        Largest effect first.
    pairs : int or None
        Estimated number of pairs that would decide, if more pairs would.
    note : Note
        The reason.
    """

    ruling: Ruling
    leader: str | None
    arms: tuple[Arm, ...]
    pairs: int | None
    note: Note

    @property
    def why(self) -> str:
        """The note's sentence."""
        return self.note.text


def decide(
    suspects: Mapping[str, Effect],
    sham: Effect,
    anomaly: float | None,
    gates: Gates | None = None,
    demand: frozenset[str] = frozenset(),
    grew: bool | None = None,
    signatures: Mapping[str, Signature] | None = None,
    usual: frozenset[str] = frozenset(),
) -> Decision:
    """Rule on suspects that were each removed and restored repeatedly.

    Parameters
    ----------
    suspects : mapping
        Effect of removing each suspect, by name.
    sham : Effect
        Effect of a removal that removes nothing, with the same timing.
    anomaly : float or None
        Log ratio of the percentile now to its normal value. None: unknown. A cause then needs an effect of
        `Gates.least_ratio` instead of a share, and no suspect is ruled out for a small share.
    demand : frozenset of str
        Suspects that are load. Without load nothing waits, whatever the cause. A load leads only if there is
        more work than normal, and no other suspect explains the slowdown or still may. Work grows with load
        and with slower code. A load whose removal removes more than the slowdown is normal load.
    grew : bool or None
        Whether there is more work than normal. None: unknown. Load is no cause unless it grew, however much
        its removal helps.
    signatures : mapping
        For suspects with a known signature: whether metrics recovered with the latency. Only a signature that
        certainly differs speaks against a suspect; an unknown one is no evidence.
    usual : frozenset of str
        Load that was also there when latency was normal. It is no cause even if there is more work, because
        each request may take longer.
    """
    gates = gates or Gates()
    level = gates.alpha / gates.looks
    if min(sham.p, other_side(sham)) < gates.sham_alpha / gates.looks:
        return Decision("void", None, (), None, sham_effect(sham))
    if anomaly is not None and anomaly < math.log(gates.least_ratio):
        return Decision("inconclusive", None, (), None, no_slowdown(anomaly, gates))
    order = sorted(suspects, key=lambda name: suspects[name].p)
    # Holm: the most significant suspect is tested against all, the next against one fewer.
    passed: list[str] = []
    for place, name in enumerate(order):
        if suspects[name].p > level / (len(order) - place):
            break
        passed.append(name)
    arms = [_arm(name, suspects[name], name in passed, anomaly, gates) for name in suspects]
    arms = [replace(arm, state="beyond") if arm.low > gates.most_share else arm for arm in arms]
    if not grew:
        state: State = "normal load" if grew is False else "load"
        arms = [replace(arm, state=state) if arm.name in demand else arm for arm in arms]
    arms = [replace(arm, state="normal load") if arm.name in usual else arm for arm in arms]
    signatures = signatures or {}
    arms = [_apply_signature(arm, signatures.get(arm.name), gates) for arm in arms]
    arms.sort(key=lambda arm: -arm.effect.log)
    explaining = [arm for arm in arms if arm.state == "explains"]
    explaining.sort(key=lambda arm: arm.name in demand)
    open_ones = any(arm.state == "open" and arm.name not in demand for arm in arms)
    if explaining and not (open_ones and explaining[0].name in demand):
        leader = explaining[0]
        part = "" if anomaly is None else f" and explains {_share(leader)} of it"
        why = f"without {leader.name} latency is {math.exp(leader.effect.log):.2f} times lower{part}"
        values = {
            "name": leader.name,
            "ratio": math.exp(leader.effect.log),
            "share": None if anomaly is None else leader.share,
        }
        return Decision("cause", leader.name, tuple(arms), None, Note("cause-shown", why, values))
    if arms and all(arm.state not in ("explains", "open") for arm in arms):
        shown = "; ".join(_against(arm, signatures.get(arm.name)) for arm in arms)
        text = f"no tested suspect explains the slowdown: {shown}"
        note = Note("no-cause-shown", text, {"names": [arm.name for arm in arms]})
        return Decision("unknown factor", None, tuple(arms), None, note)
    return _open(arms, sham, anomaly, gates)


def _open(arms: Sequence[Arm], sham: Effect, anomaly: float | None, gates: Gates) -> Decision:
    if not arms:
        return Decision("inconclusive", None, (), None, Note("no-suspect", "no suspect could be tested"))
    wanted = math.log(gates.least_ratio) if anomaly is None else gates.share_low * anomaly
    spread = max(sham.spread, *(arm.effect.spread for arm in arms if arm.state == "open"))
    pairs = pairs_needed(spread, wanted, gates.alpha / gates.looks)
    return Decision("inconclusive", arms[0].name, tuple(arms), pairs, few_pairs(spread, pairs))


def no_slowdown(anomaly: float, gates: Gates) -> Note:
    """Return the note that latency is too close to normal. `anomaly` is the log ratio."""
    ratio = math.exp(anomaly)
    text = f"latency is {ratio:.2f} times normal, so there is nothing to explain"
    return Note("no-slowdown", text, {"ratio": ratio, "limit": gates.least_ratio})


def few_pairs(spread: float, pairs: int) -> Note:
    """Return the note that pairs vary too much. `spread` is the standard deviation of their log ratios."""
    share = math.exp(spread) - 1
    text = f"pairs vary by {share:.0%}; an answer needs about {pairs} pairs"
    return Note("few-pairs", text, {"spread": share, "need": pairs})


def sham_effect(sham: Effect) -> Note:
    """Return the note that latency changed although the experiment changed nothing."""
    p = min(sham.p, other_side(sham))
    ratio = math.exp(sham.log)
    text = (
        f"latency changed {ratio:.2f}-fold in an experiment that changes nothing (p = {p:.3f}, {sham.pairs}"
        " pairs):"
        " something else on this host affects latency"
    )
    return Note("sham-effect", text, {"ratio": ratio, "p": p, "pairs": sham.pairs})


def other_side(effect: Effect) -> float:
    """Return p of the opposite hypothesis: that the suspect's presence lowers latency (without ties)."""
    return min(1.0, 1.0 - effect.p + 2.0**-effect.pairs)


def _arm(name: str, effect: Effect, passed: bool, anomaly: float | None, gates: Gates) -> Arm:
    level = gates.alpha / gates.looks
    low, high = effect.bound(level), effect.bound(1 - level)
    if anomaly is None:
        nan = math.nan
        sure = passed and low > 0 and effect.log > math.log(gates.least_ratio)
        none = high < math.log(gates.least_ratio)
        return Arm(name, effect, nan, nan, nan, "explains" if sure else "ruled out" if none else "open")
    share, least, most = (value / anomaly for value in (effect.log, low, high))
    state: State = "open"
    if passed and least > gates.share_low and effect.log > math.log(gates.least_ratio):
        state = "explains"
    elif most < gates.share_out:
        state = "part" if passed else "ruled out"
    return Arm(name, effect, share, least, most, state)


def _apply_signature(arm: Arm, found: Signature | None, gates: Gates) -> Arm:
    surely_not = found is not None and found.fits is False
    whole = arm.state == "explains" and arm.share > gates.whole
    return replace(arm, state="other signature") if surely_not and whole else arm


def _against(arm: Arm, found: Signature | None) -> str:
    if arm.state == "normal load":
        return f"{arm.name} is not higher than normal"
    if arm.state == "load":
        return (
            f"{arm.name} sends the load, without which nothing waits; --normal-work or --ring would show"
            " whether the load is higher than normal"
        )
    if arm.state == "beyond":
        return f"{arm.name} {_share(arm)}, which is more than the slowdown, because it removes load"
    if arm.state == "other signature" and found is not None:
        stays = ", ".join(f"{name} keeps {part:.0%} of its shift" for name, part in found.stays)
        return f"{arm.name} {_share(arm)}, but other metrics do not recover ({stays})"
    return f"{arm.name} {_share(arm)}"


def _share(arm: Arm) -> str:
    if math.isnan(arm.share):
        return f"x{math.exp(arm.effect.log):.2f}"
    return f"{arm.share:.0%} ({arm.low:.0%} to {arm.high:.0%})"
