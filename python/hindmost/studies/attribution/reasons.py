"""What weakens an answer or leaves it open, each with what would help."""

from __future__ import annotations

import math
from typing import Literal

from hindmost.store.attribution import Evidence
from hindmost.store.types import Reason
from hindmost.studies.attribution.plan import AttributionPlan

FEW_RUNS = 5
"""With fewer runs a cell, runs of two kinds (30 % slow ones) are covered by 82 % instead of 95 %."""
MANY_INVALID = 0.2


def reasons_of(plan: AttributionPlan, document: Evidence) -> list[Reason]:
    """All of them, those of cells and runs first."""
    looks = (cells_without_figures(document), _theft(document), _sample(document), _drift(document))
    return [*(one for look in looks for one in look), *_undecided(plan, document)]


def _reason(
    code: str, level: Literal["invalid", "inconclusive", "mind"], text: str, hint: str | None
) -> Reason:
    return {"code": code, "level": level, "text": text, "hint": hint}


def cells_without_figures(document: Evidence) -> list[Reason]:
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


def _theft(document: Evidence) -> list[Reason]:
    """What others took, and which figures these therefore are."""
    out = []
    for load in document["loads"]:
        one = load["theft"]
        if one is None or not one["runs"]:
            continue
        took = (
            f"at {load['name']} load others took {one['taken_share']:.1%} of the processors' time, in"
            f" {one['runs']} of {one['of']} runs"
        )
        if one["refused"]:
            text = f"{took}, but figures are what was measured: {one['refused']}"
        else:
            text = (
                f"{took}: figures are calm latency, what the server does on processors of its own"
                f" ({one['counted_share']:.0%} of requests count); what was measured stands beside it"
            )
        out.append(_reason("theft", "mind", text, None))
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
    name = plan.wanted
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
                f" {name} by {plan.delta.text} or more: {runs} decide it",
                None
                if not more or not math.isfinite(max(more))
                else "more blocks in [design]; the same command goes on",
            )
        )
    return out
