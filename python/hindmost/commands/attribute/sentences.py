"""The answer in words: three sentences, findings by importance, and reasons."""

from __future__ import annotations

import math

from msgspec.structs import replace

from hindmost.commands.attribute.document import Attribution, Effect
from hindmost.commands.attribute.plan import AttributionPlan
from hindmost.commands.attribute.reasons import factors_without_effect, reasons_of
from hindmost.core.plan.units import format_us

_SHOWN = ("raises", "lowers")
_MANY_TIMES = 9.0
"""Share beyond which a change is written as a factor: +2481258 % is hard to read."""


def write_answer(plan: AttributionPlan, document: Attribution) -> Attribution:
    """Write the answer in words into a document that is otherwise complete."""
    reasons = reasons_of(plan, document)
    if not any(load.quantiles[plan.main_quantile].average for load in document.loads):
        why = next((one.text for one in reasons), "no cell has enough runs")
        return replace(
            document,
            verdict="invalid",
            headline=f"no answer: {why}",
            summary=[f"no answer: {why}"],
            reasons=reasons,
        )
    effects = _effects(plan, document)
    undecided = any(reason.code == "undecided-factors" for reason in reasons)
    nothing = f"no factor is shown to change {plan.main_quantile} by {plan.delta.text} or more"
    summary = [effects[0] if effects else nothing, _setting(document), _sure(plan, document)]
    return replace(
        document,
        verdict="open" if undecided else "answered",
        headline=summary[0],
        summary=summary,
        findings=[*effects[1:], *_reversals(plan, document)],
        reasons=reasons,
    )


def _setting(document: Attribution) -> str:
    """Return the recommendation, unless fresh runs refuted it."""
    one = document.recommendation
    refuted = [fresh for fresh in document.confirmations if fresh.outcome == "refuted"]
    if not refuted:
        return one.text
    loads = ", ".join(fresh.load for fresh in refuted)
    return f"leave the present setting: what looked better was refuted by fresh runs at {loads} load"


def _sure(plan: AttributionPlan, document: Attribution) -> str:
    """Return the evidence: fresh runs at each load, or else the number of runs."""
    texts = [one.text for one in document.confirmations]
    texts += [f"at {one.load} load not confirmed: {one.why.text}" for one in document.unconfirmed]
    if texts:
        return "; ".join(texts)
    design = document.design
    open_ = _open(plan, document)
    runs = f"this is based on {design.runs} runs in {design.blocks} blocks"
    return f"{runs}; still open: {', '.join(open_)}" if open_ else f"{runs}; every factor is decided"


def _open(plan: AttributionPlan, document: Attribution) -> list[str]:
    """Return factors whose main effect is undecided."""
    open_: dict[str, None] = {}
    for load in document.loads:
        open_ |= dict.fromkeys(factors_without_effect(plan, load))
        for effect in load.quantiles[plan.main_quantile].average:
            if effect.verdict == "undecided" and len(effect.factors) == 1:
                open_[effect.factors[0]] = None
    return list(open_)


def _effects(plan: AttributionPlan, document: Attribution) -> list[str]:
    """Describe the average effects that are shown, single factors first, then by ratio."""
    name = plan.main_quantile
    shown = [
        (len(effect.factors) > 1, -_size(effect), load.name, effect)
        for load in document.loads
        for effect in load.quantiles[name].average
        if effect.verdict in _SHOWN and 1 <= len(effect.factors) <= 2
    ]
    return [_sentence(name, load, effect) for _, _, load, effect in sorted(shown, key=lambda one: one[:3])]


def _size(effect: Effect) -> float:
    """Return how far a ratio is from 1, in either direction."""
    return abs(math.log(max(1.0 + effect.share, 1e-9)))


def _sentence(name: str, load: str, effect: Effect) -> str:
    base = effect.base or 0.0
    before, after = format_us(base), format_us(base + effect.value)
    span = f"({_change(effect)}; between {_format_change(effect.low)} and {_format_change(effect.high)})"
    if len(effect.factors) > 1:
        where = f"{name} at {load} load is {after} where each alone would make it {before}"
        return f"{_subject(effect)} together: {where} {span}"
    change = f"{effect.verdict} {name} at {load} load from {before} to {after} {span}"
    return f"{_subject(effect)} {change}, on average over the other settings"


def _change(effect: Effect) -> str:
    share = effect.share
    return f"{1.0 + share:.3g} times" if share > _MANY_TIMES else f"{share:+.0%}"


def _format_change(us: float) -> str:
    return f"{'-' if us < 0 else '+'}{format_us(abs(us))}"


def _subject(effect: Effect) -> str:
    parts = [f"{name} = {level}" for name, level in zip(effect.factors, effect.levels, strict=True)]
    return " with ".join(parts)


def _reversals(plan: AttributionPlan, document: Attribution) -> list[str]:
    name = plan.main_quantile
    return [
        f"at {load.name} load, {name}: {one.text}"
        for load in document.loads
        for one in load.quantiles[name].reversals
    ]
