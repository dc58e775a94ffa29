"""The answer in words: a headline, findings from the most important on, and what to keep in mind."""

from __future__ import annotations

import math
from typing import Literal

from hindmost.plan.units import format_us
from hindmost.store.attribution import Answer, Effect, Evidence
from hindmost.store.types import Reason
from hindmost.studies.attribution.confirm import recommended, wanted
from hindmost.studies.attribution.plan import AttributionPlan

FEW_RUNS = 5
"""With fewer runs a cell, runs of two kinds (30 % slow ones) are covered by 82 % instead of 95 %."""
MANY_INVALID = 0.2
_VERBS = {"raises": "raises", "lowers": "lowers"}


def of(plan: AttributionPlan, document: Evidence) -> Answer:
    """``verdict``, ``headline``, ``findings`` and ``reasons`` of a document that holds all else."""
    reasons = [*_cells(document), *_sample(document), *_drift(document), *_undecided(plan, document)]
    findings = [*_setting(plan, document), *_effects(plan, document), *_reversals(plan, document)]
    answered = any(load["quantiles"][wanted(plan)]["average"] for load in document["loads"])
    if not answered:
        why = next((one["text"] for one in reasons), "no cell has two sound runs")
        return {
            "verdict": "invalid",
            "headline": f"no answer: {why}",
            "findings": findings,
            "reasons": reasons,
        }
    undecided = any(reason["code"] == "undecided" for reason in reasons)
    return {
        "verdict": "open" if undecided else "answered",
        "headline": findings[0] if findings else _nothing(plan),
        "findings": findings,
        "reasons": reasons,
    }


def _nothing(plan: AttributionPlan) -> str:
    return f"none of the factors was seen to change {wanted(plan)} by {plan.delta:.0%} or more"


def _setting(plan: AttributionPlan, document: Evidence) -> list[str]:
    """The setting to use, as far as it was confirmed."""
    after = recommended(plan, document)
    if after is None:
        return []
    if after == plan.control:
        return [f"the present setting is the best that was found for {wanted(plan)}: leave it"]
    levels, now = plan.levels(after), plan.levels(plan.control)
    change = ", ".join(f"{name} = {level}" for name, level in levels.items() if now[name] != level)
    fresh = document["confirmations"]
    if not fresh:
        return [f"set {change} for the lowest {wanted(plan)}: not confirmed by fresh runs yet"]
    said = "; ".join(one["text"] for one in fresh)
    return [f"set {change} for the lowest {wanted(plan)}: {said}"]


def _effects(plan: AttributionPlan, document: Evidence) -> list[str]:
    """Average effects that were shown, the largest share first."""
    name = wanted(plan)
    shown = [
        (abs(effect["share"]), load["name"], effect)
        for load in document["loads"]
        for effect in load["quantiles"][name]["average"]
        if effect["verdict"] in _VERBS and effect["factors"] and effect["adjusted"] < 0.05
    ]
    lines = []
    for _, load, effect in sorted(shown, key=lambda one: -one[0]):
        low, high = sorted((effect["share_low"], effect["share_high"]))
        lines.append(
            f"{_subject(effect)} {_VERBS[effect['verdict']]} {name} at {load} load by"
            f" {format_us(abs(effect['value']))} ({effect['share']:+.0%}, between {low:+.0%} and {high:+.0%})"
            f" on average over the other settings"
        )
    return lines


def _subject(effect: Effect) -> str:
    parts = [f"{name} = {level}" for name, level in zip(effect["factors"], effect["levels"], strict=True)]
    return parts[0] if len(parts) == 1 else " with ".join(parts) + ", beyond what each does,"


def _reversals(plan: AttributionPlan, document: Evidence) -> list[str]:
    name = wanted(plan)
    return [
        f"at {load['name']} load, {name}: {one['text']}"
        for load in document["loads"]
        for one in load["quantiles"][name]["reversals"]
    ]


def _reason(
    code: str, level: Literal["invalid", "inconclusive", "mind"], text: str, hint: str | None
) -> Reason:
    return {"code": code, "level": level, "text": text, "hint": hint}


def _cells(document: Evidence) -> list[Reason]:
    """Cells that have no answer, and why; runs that the instrument distorted."""
    out = []
    for load in document["loads"]:
        if failed := [cell for cell in load["cells"] if cell["failure"]]:
            setting = ", ".join(f"{name} = {level}" for name, level in failed[0]["levels"].items())
            more = f"; nor for {len(failed) - 1} more of {len(load['cells'])} cells" if failed[1:] else ""
            out.append(
                _reason(
                    "cell",
                    "mind",
                    f"at {load['name']} load there is no figure for {setting}: {failed[0]['failure']}{more}",
                    "a lower rate, or the level left out; the model does without these cells",
                )
            )
        runs = sum(cell["runs"] + cell["invalid"] for cell in load["cells"])
        invalid = sum(cell["invalid"] for cell in load["cells"])
        if runs and invalid > MANY_INVALID * runs:
            out.append(
                _reason(
                    "invalid_runs",
                    "mind",
                    f"at {load['name']} load {invalid} of {runs} runs were distorted and are left out",
                    "`hindmost doctor`: what on this host distorts a measurement",
                )
            )
    return out


def _sample(document: Evidence) -> list[Reason]:
    least = min(
        (cell["runs"] for load in document["loads"] for cell in load["cells"] if not cell["failure"]),
        default=0,
    )
    if 0 < least < FEW_RUNS:
        return [
            _reason(
                "few_runs",
                "mind",
                f"a cell has {least} runs only: if runs of this server come in two kinds, intervals are too"
                " short",
                f'blocks = "{FEW_RUNS}.." in [design], and the same command again goes on',
            )
        ]
    return []


def _drift(document: Evidence) -> list[Reason]:
    out = []
    for load in document["loads"]:
        one = load["drift"]
        if one is not None and one["drifting"]:
            out.append(
                _reason(
                    "drift",
                    "mind",
                    f"at {load['name']} load the control's {one['quantile']} changed by"
                    f" {one['share_per_block']:+.1%} a block (p = {one['p']:.2g}): the host was not the same"
                    " throughout; blocks take most of it out of the comparisons",
                    "`hindmost doctor`",
                )
            )
    return out


def _undecided(plan: AttributionPlan, document: Evidence) -> list[Reason]:
    """Main effects that more runs would decide."""
    name = wanted(plan)
    out = []
    for load in document["loads"]:
        open_ = [
            effect
            for effect in load["quantiles"][name]["average"]
            if effect["verdict"] == "undecided" and len(effect["factors"]) == 1
        ]
        if not open_:
            continue
        names = ", ".join(effect["factors"][0] for effect in open_)
        more = [effect["more_runs"] for effect in open_ if effect["more_runs"]]
        runs = (
            f"about {max(more)} more runs of each cell would" if more else "no number of runs in reach would"
        )
        out.append(
            _reason(
                "undecided",
                "inconclusive",
                f"at {load['name']} load it is open whether {names} change"
                f" {name} by {plan.delta:.0%} or more: {runs} decide it",
                None
                if not more or not math.isfinite(max(more))
                else "more blocks in [design]; the same command goes on",
            )
        )
    return out
