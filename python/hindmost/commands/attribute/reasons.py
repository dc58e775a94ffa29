"""Reasons that weaken an answer or leave it open, each with a hint."""

from __future__ import annotations

import math
from typing import Any, Literal

from hindmost.commands.attribute.cells import LEAST_RUNS
from hindmost.commands.attribute.document import Attribution, Load
from hindmost.commands.attribute.plan import AttributionPlan
from hindmost.core.store.types import Reason

FEW_RUNS = 5
"""Runs of each cell below which intervals are too short: with two kinds of runs (30 % slow), 82 % instead of
95 %."""
MANY_INVALID = 0.2


def reasons_of(plan: AttributionPlan, document: Attribution) -> list[Reason]:
    """Return all reasons, those about cells and runs first."""
    looks = (
        cells_without_figures(document),
        _interference(document),
        _sample(document),
        _drift(document),
        _misfit(plan, document),
        _undecided_factors(plan, document),
    )
    return [one for look in looks for one in look]


def _reason(
    code: str,
    level: Literal["inconclusive", "note"],
    text: str,
    hint: str | None = None,
    **values: Any,  # noqa: ANN401 (numbers, names, lists of names)
) -> Reason:
    return Reason(code=code, level=level, text=text, hint=hint, values=values)


def cells_without_figures(document: Attribution) -> list[Reason]:
    """Report cells without a figure, and distorted runs."""
    out = []
    for load in document.loads:
        failed = [(cell.levels, cell.failure) for cell in load.cells if cell.failure]
        if failed:
            levels, failure = failed[0]
            setting = ", ".join(f"{name} = {level}" for name, level in levels.items())
            more = f"; nor for {len(failed) - 1} more of {len(load.cells)} cells" if failed[1:] else ""
            out.append(
                _reason(
                    "failed-cell",
                    "note",
                    f"at {load.name} load there is no figure for {setting}: {failure.text}{more}",
                    "lower the rate, or leave out the level; the model is fitted without these cells",
                    load=load.name,
                    levels=levels,
                    why=failure.code,
                    failed=len(failed),
                    cells=len(load.cells),
                )
            )
        runs = sum(cell.runs + cell.invalid for cell in load.cells)
        invalid = sum(cell.invalid for cell in load.cells)
        if runs and invalid > MANY_INVALID * runs:
            out.append(
                _reason(
                    "distorted-runs",
                    "note",
                    f"at {load.name} load {invalid} of {runs} runs were distorted and are excluded",
                    "`hindmost host doctor` shows what distorts measurements on this host",
                    load=load.name,
                    distorted=invalid,
                    runs=runs,
                )
            )
    return out


def _interference(document: Attribution) -> list[Reason]:
    """Report the interference, and whether figures are isolated or measured latency."""
    out = []
    for load in document.loads:
        one = load.interference
        if one is None or not one.runs:
            continue
        refused = one.refused
        interference = (
            f"at {load.name} load the hypervisor or other processes used"
            f" {one.interference_share:.1%} of the"
            f" CPUs, in {one.runs} of {one.of} runs"
        )
        if refused:
            text = f"{interference}, but figures are latency as measured: {refused.text}"
        else:
            text = (
                f"{interference}: figures are isolated latency, as if the server had the CPUs to itself"
                f" ({one.counted_share:.0%} of requests count); the measured latency is next to it"
            )
        values: dict[str, Any] = {
            "load": load.name,
            "interference_share": one.interference_share,
            "counted_share": one.counted_share,
            "runs": one.runs,
            "of": one.of,
            "refused": refused.code if refused else None,
        }
        out.append(_reason("interference", "note", text, **values))
    return out


def _sample(document: Attribution) -> list[Reason]:
    least = min(
        (cell.runs for load in document.loads for cell in load.cells if not cell.failure),
        default=0,
    )
    if 0 < least < FEW_RUNS:
        return [
            _reason(
                "few-cell-runs",
                "note",
                f"a cell has only {least} runs: intervals are too short if runs come in two kinds",
                f'set blocks = "{FEW_RUNS}.." in [design], and run the same command again',
                runs=least,
                need=FEW_RUNS,
            )
        ]
    return []


def _drift(document: Attribution) -> list[Reason]:
    out = []
    for load in document.loads:
        one = load.drift
        if one is not None and one.drifting:
            out.append(
                _reason(
                    "control-drift",
                    "note",
                    f"at {load.name} load the control's {one.quantile} changed by"
                    f" {one.share_per_block:+.1%} per block (p = {one.p:.2g}): the host changed;"
                    " blocks remove most of the drift from the comparisons",
                    "`hindmost host doctor`",
                    load=load.name,
                    quantile=one.quantile,
                    share_per_block=one.share_per_block,
                    p=one.p,
                )
            )
    return out


def _misfit(plan: AttributionPlan, document: Attribution) -> list[Reason]:
    """Report loads at which the model without some interactions does not predict every cell."""
    out = []
    for load in document.loads:
        one = load.quantiles[plan.main_quantile].fit
        level = (1.0 - document.confidence) / len(document.loads)
        if one is None or one.worst is None or one.p is None or one.p >= level:
            continue
        setting = ", ".join(f"{name} = {value}" for name, value in one.worst.items())
        by = "" if one.deviation_share is None else f" by {one.deviation_share:+.0%}"
        out.append(
            _reason(
                "model-misfit",
                "note",
                f"at {load.name} load {plan.main_quantile} of {setting} deviates from the model{by}"
                f" (p = {one.p:.2g}): interactions that the design leaves out are not zero",
                'use kind = "full" in [design], with fewer factors if it takes too long',
                load=load.name,
                quantile=plan.main_quantile,
                levels=one.worst,
                deviation_share=one.deviation_share,
                p=one.p,
            )
        )
    return out


def factors_without_effect(plan: AttributionPlan, load: Load) -> list[str]:
    """Return factors whose main effect cannot be estimated at a load, for lack of valid runs."""
    known = {name for effect in load.quantiles[plan.main_quantile].average for name in effect.factors}
    return [term[0] for term in plan.model.terms if len(term) == 1 and term[0] not in known]


def _undecided_factors(plan: AttributionPlan, document: Attribution) -> list[Reason]:
    """Report main effects that more runs would decide."""
    name = plan.main_quantile
    out = []
    for load in document.loads:
        open_ = [
            effect
            for effect in load.quantiles[name].average
            if effect.verdict == "undecided" and len(effect.factors) == 1
        ]
        without = factors_without_effect(plan, load)
        if not open_ and not without:
            continue
        names = [*without, *dict.fromkeys(effect.factors[0] for effect in open_)]
        more = [effect.more_runs for effect in open_ if effect.more_runs]
        runs = f"about {max(more)} more runs of each cell" if more else "no practical number of runs"
        if without:
            more, runs = [], f"{LEAST_RUNS} valid runs of each cell"
        out.append(
            _reason(
                "undecided-factors",
                "inconclusive",
                f"at {load.name} load it is not decided whether {', '.join(names)} change"
                f" {name} by {plan.delta.text} or more: {runs} would decide it",
                "set more blocks in [design], and run the same command again"
                if without or (more and math.isfinite(max(more)))
                else None,
                load=load.name,
                quantile=name,
                factors=names,
                more_runs=max(more) if more else None,
            )
        )
    return out
