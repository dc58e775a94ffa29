"""From switch-backs to a ruling: cause, unknown factor or inconclusive.

What the paper prints is the wrong way round: "not rejected" is taken for "the cause", so that few samples
accept everything and many reject the true one. Here a suspect must *show* its share of what happened, a
suspect is struck out only when its share is shown to be small, and all else is inconclusive.

::

    share r = log ratio there/gone of the suspect, over log ratio now/normal of the anomaly

    0 ........ 0.3 ............ 0.6 ............ 1 ........ 1.6
              lower bound above: explains       upper bound below 0.6: struck out

Who takes (nearly) all of the latency along must take along what moved with it, where that is known: else both
have another cause, or the latency came back for another reason (`signature.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hindmost.notes import Note
from hindmost.stats.causes.signature import Signature
from hindmost.stats.causes.switchback import Effect, pairs_needed

Ruling = Literal["cause", "unknown factor", "inconclusive", "void"]
State = Literal["explains", "part", "struck out", "open", "as ever", "load", "beyond", "other signature"]


@dataclass(frozen=True, slots=True)
class Gates:
    """Where the lines are.

    Attributes
    ----------
    alpha : float
        Family-wise, over suspects and looks.
    looks : int
        Among which alpha is shared.
    share_low : float
        A cause's share must lie above, at confidence ``1 - alpha``.
    share_out : float
        Below this with the same confidence, a suspect is struck out.
    least_ratio : float
        Of there over gone: a smaller effect is nobody's cause, however sure.
    sham_alpha : float
        The sham fires below; nothing is then believed.
    most_share : float
        Whose removal surely makes it that much faster than when all was well takes something else away: load.
    whole : float
        A share beyond it is about all of the anomaly: its signature must then go along. Below it, another
        cause is left, and its signature with it.
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
    """One suspect's evidence: `share` of the anomaly with its bounds (NaN where its size is not known)."""

    name: str
    effect: Effect
    share: float
    low: float
    high: float
    state: State


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows.

    Attributes
    ----------
    ruling : str
    leader : str or None
        The cause; of an inconclusive ruling, who leads.
    arms : tuple of Arm
        Largest effect first.
    pairs : int or None
        How many would decide, where more would.
    note : Note
        Why.
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
    """Rule on suspects that were each there and gone in turns.

    Parameters
    ----------
    suspects : mapping
        Name to what removing it does.
    sham : Effect
        Of a removal that removes nothing, with the same timing.
    anomaly : float or None
        Log ratio of the percentile now and when all was well; None: not known. A cause then needs an effect
        of `Gates.least_ratio` and no share, and nobody is struck out for a small one.
    demand : frozenset of str
        Suspects that are load: without load nothing waits, whatever makes it slow. One of them leads only
        where there is more work than normal, and nothing else explains it, or still may. Work grows with
        load and with slower code: whose removal takes more than the slowdown away is load as ever.
    grew : bool or None
        Whether there is more work than when all was well; None: not known. Load is nobody's cause unless it
        grew, however much its removal helps.
    signatures : mapping
        Of suspects for which it is known: whether metrics came back with the latency. Only one that surely
        did not speaks against a suspect; that it is not known speaks for nobody.
    usual : frozenset of str
        Load that was there when all was well, so nobody's cause even where there is more work: each request
        may take longer.
    """
    gates = gates or Gates()
    level = gates.alpha / gates.looks
    if min(sham.p, other_side(sham)) < gates.sham_alpha / gates.looks:
        return Decision("void", None, (), None, sham_effect(sham))
    if anomaly is not None and anomaly < math.log(gates.least_ratio):
        return Decision("inconclusive", None, (), None, no_slowdown(anomaly, gates))
    order = sorted(suspects, key=lambda name: suspects[name].p)
    # Holm: the surest must stand against all, the next against one fewer.
    passed: list[str] = []
    for place, name in enumerate(order):
        if suspects[name].p > level / (len(order) - place):
            break
        passed.append(name)
    arms = [_arm(name, suspects[name], name in passed, anomaly, gates) for name in suspects]
    arms = [replace(arm, state="beyond") if arm.low > gates.most_share else arm for arm in arms]
    if not grew:
        state: State = "as ever" if grew is False else "load"
        arms = [replace(arm, state=state) if arm.name in demand else arm for arm in arms]
    arms = [replace(arm, state="as ever") if arm.name in usual else arm for arm in arms]
    signatures = signatures or {}
    arms = [_signed(arm, signatures.get(arm.name), gates) for arm in arms]
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
        text = f"no suspect that was tried explains the slowdown: {shown}"
        note = Note("no-cause-shown", text, {"names": [arm.name for arm in arms]})
        return Decision("unknown factor", None, tuple(arms), None, note)
    return _open(arms, sham, anomaly, gates)


def _open(arms: Sequence[Arm], sham: Effect, anomaly: float | None, gates: Gates) -> Decision:
    if not arms:
        return Decision("inconclusive", None, (), None, Note("no-suspect", "no suspect could be tried"))
    wanted = math.log(gates.least_ratio) if anomaly is None else gates.share_low * anomaly
    spread = max(sham.spread, *(arm.effect.spread for arm in arms if arm.state == "open"))
    pairs = pairs_needed(spread, wanted, gates.alpha / gates.looks)
    return Decision("inconclusive", arms[0].name, tuple(arms), pairs, few_pairs(spread, pairs))


def no_slowdown(anomaly: float, gates: Gates) -> Note:
    """Note that latency is too near normal; `anomaly` is the log ratio."""
    ratio = math.exp(anomaly)
    text = f"latency is {ratio:.2f} times normal, so there is nothing to explain"
    return Note("no-slowdown", text, {"ratio": ratio, "limit": gates.least_ratio})


def few_pairs(spread: float, pairs: int) -> Note:
    """Note that pairs differ too much; `spread` is the standard deviation of their log ratios."""
    share = math.exp(spread) - 1
    text = f"pairs differ by {share:.0%}; about {pairs} pairs would be needed for an answer"
    return Note("few-pairs", text, {"spread": share, "need": pairs})


def sham_effect(sham: Effect) -> Note:
    """Note that latency changed although the experiment did nothing."""
    p = min(sham.p, other_side(sham))
    ratio = math.exp(sham.log)
    text = (
        f"an experiment that does nothing changed latency {ratio:.2f}-fold (p = {p:.3f}, {sham.pairs} pairs):"
        " something else on this host changes it"
    )
    return Note("sham-effect", text, {"ratio": ratio, "p": p, "pairs": sham.pairs})


def other_side(effect: Effect) -> float:
    """Give p of the other side: that its presence makes it faster (without the ties)."""
    return min(1.0, 1.0 - effect.p + 2.0**-effect.pairs)


def _arm(name: str, effect: Effect, passed: bool, anomaly: float | None, gates: Gates) -> Arm:
    level = gates.alpha / gates.looks
    low, high = effect.bound(level), effect.bound(1 - level)
    if anomaly is None:
        nan = math.nan
        sure = passed and low > 0 and effect.log > math.log(gates.least_ratio)
        none = high < math.log(gates.least_ratio)
        return Arm(name, effect, nan, nan, nan, "explains" if sure else "struck out" if none else "open")
    share, least, most = (value / anomaly for value in (effect.log, low, high))
    state: State = "open"
    if passed and least > gates.share_low and effect.log > math.log(gates.least_ratio):
        state = "explains"
    elif most < gates.share_out:
        state = "part" if passed else "struck out"
    return Arm(name, effect, share, least, most, state)


def _signed(arm: Arm, found: Signature | None, gates: Gates) -> Arm:
    surely_not = found is not None and found.fits is False
    whole = arm.state == "explains" and arm.share > gates.whole
    return replace(arm, state="other signature") if surely_not and whole else arm


def _against(arm: Arm, found: Signature | None) -> str:
    if arm.state == "as ever":
        return f"{arm.name} is as usual"
    if arm.state == "load":
        return (
            f"{arm.name} brings the load, without which nothing waits; --normal-work or --ring would tell"
            " whether there is more of it than normal"
        )
    if arm.state == "beyond":
        return f"{arm.name} {_share(arm)}, which is more than the slowdown: it takes load away"
    if arm.state == "other signature" and found is not None:
        stays = ", ".join(f"{name} keeps {part:.0%} of its shift" for name, part in found.stays)
        return f"{arm.name} {_share(arm)}, but other metrics do not come back ({stays})"
    return f"{arm.name} {_share(arm)}"


def _share(arm: Arm) -> str:
    if math.isnan(arm.share):
        return f"x{math.exp(arm.effect.log):.2f}"
    return f"{arm.share:.0%} ({arm.low:.0%} to {arm.high:.0%})"
