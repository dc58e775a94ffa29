"""The recommendation: a setting that is clearly lower than the present one, or none.

The lowest of many figures is partly chance (the winner's curse), most of all in a cell with few runs. So a
setting is recommended only if it has enough runs, and if comparisons of all settings with the present one,
which hold simultaneously, show it to be lower. Its costs at other percentiles and loads are reported, and
come first if they exceed the gain. Fresh runs then confirm it, or do not (`confirm`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec.structs import replace

from hindmost.commands.attribute import document as documents
from hindmost.commands.attribute.cells import LEAST_RUNS, CellRuns
from hindmost.commands.attribute.design import Cell
from hindmost.commands.attribute.family import Key
from hindmost.commands.attribute.model import FittedModel
from hindmost.commands.attribute.plan import AttributionPlan
from hindmost.commands.attribute.scale import Scale, positive
from hindmost.commands.attribute.settings import covers, is_allowed
from hindmost.core.store.estimates import bounds
from hindmost.stats import ControlDifference, control_differences, more_runs

Cells = Mapping[str, Mapping[Cell, CellRuns]]
"""Cells by load name."""


def recommendation(
    plan: AttributionPlan, all_models: Mapping[Key, FittedModel], cells: Cells
) -> documents.Recommendation:
    """Return the setting to use, or why there is none yet.

    Parameters
    ----------
    plan : AttributionPlan
        Determines which quantile should be low, and at which loads.
    all_models : mapping
        The model of each load and quantile.
    cells : mapping
        The runs behind the models.
    """
    models = [all_models[load.name, plan.main_quantile] for load in plan.main_loads]
    if any(one.fit is None or plan.control not in one.runs for one in models):
        return _open(plan, _too_little(plan, cells))
    candidates = [
        cell
        for cell in plan.design.cells
        if cell != plan.control and is_allowed(plan, cell) and all(covers(one, cell) for one in models)
    ]
    counted = [cell for cell in candidates if _counts(models, cells, cell)]
    if not counted:
        return _open(plan, _too_little(plan, cells))
    confidence = min(one.confidence for one in models)
    compared = control_differences(
        [one.fit for one in models if one.fit is not None], plan.control, candidates, confidence
    )
    by_cell = {one.cell: one for one in compared}
    lower = [by_cell[cell] for cell in counted if by_cell[cell].lower]
    if lower:
        return _better(plan, all_models, models, lower)
    if any(one.lower for one in compared):
        return _open(plan, _too_little(plan, cells))
    if all(by_cell[cell].higher for cell in counted):
        text = (
            f"the present setting is shown to have the lowest {plan.main_quantile}{_at_loads(plan)}: keep it"
        )
        return _recommendation(plan, "present", text)
    return _tied(plan, models, [by_cell[cell] for cell in counted])


def _counts(models: list[FittedModel], cells: Cells, cell: Cell) -> bool:
    """Whether a cell has enough runs at the requested loads, and works at every load."""
    works = all(of[cell].failure is None for of in cells.values() if cell in of)
    return works and all(cell in one.runs for one in models)


def _better(
    plan: AttributionPlan,
    all_models: Mapping[Key, FittedModel],
    models: list[FittedModel],
    lower: list[ControlDifference],
) -> documents.Recommendation:
    """Recommend, among settings practically as low as the lowest, the one with the fewest changes."""
    enough = min(one.value for one in lower) + smallest(plan, models)
    near = [one for one in lower if one.value <= enough]
    pick = min(near, key=lambda one: (changes(plan, one.cell), one.value, one.cell))
    gain = _ratio_to_control(plan, models, pick)
    prices = _prices(plan, all_models, pick.cell, 1.0 / gain.value)
    first = [one for one in prices if one.more_than_gained]
    gain_text = f"{plan.main_quantile}{_at_loads(plan)} is then {times(gain)}"
    setting = changed_text(plan, pick.cell)
    if first:
        costs = "; ".join(_price_text(one) for one in first)
        text = f"{costs}: more than {plan.main_quantile} gains, if {setting} is set ({gain_text})"
    else:
        text = f"set {setting} for the lowest {plan.main_quantile}: {gain_text}"
        if prices:
            text += f"; but {'; '.join(_price_text(one) for one in prices)}"
    return replace(
        _recommendation(plan, "better", text),
        levels=plan.levels(pick.cell),
        gain=gain,
        prices=prices,
    )


def _tied(
    plan: AttributionPlan, models: list[FittedModel], compared: list[ControlDifference]
) -> documents.Recommendation:
    text = f"no setting is shown to be better than the present one for {plan.main_quantile}{_at_loads(plan)}"
    least = min(compared, key=lambda one: one.value)
    blocks = candidate = None
    if least.value < -smallest(plan, models):
        runs = min(len(one.runs[cell]) for one in models for cell in (least.cell, plan.control))
        blocks = more_runs(least, 0.0, runs)
        look = times(_ratio_to_control(plan, models, least))
        many = f"about {_blocks(blocks)} would tell" if blocks else "no practical number of blocks would tell"
        text += f": {changed_text(plan, least.cell)} looks {look}, but may be chance; {many}"
        candidate = plan.levels(least.cell)
    return replace(_recommendation(plan, "tied", text), more_blocks=blocks, candidate=candidate)


def _too_little(plan: AttributionPlan, cells: Cells) -> int:
    """Return how many blocks every cell still needs to count, at its share of valid runs so far."""
    most = 1
    for load in plan.main_loads:
        for one in cells[load.name].values():
            lacks = LEAST_RUNS - len(one.runs)
            if lacks > 0 and one.failure is None:
                tries = len(one.runs) + one.invalid
                counted = len(one.runs) / tries if one.runs else 1.0
                most = max(most, math.ceil(lacks / counted))
    return most


def _open(plan: AttributionPlan, blocks: int) -> documents.Recommendation:
    where = f"{plan.main_quantile}{_at_loads(plan)}"
    text = (
        f"no setting can be recommended yet for {where}: {_blocks(blocks)} needed, because a setting counts"
        f" with {LEAST_RUNS} valid runs"
    )
    return replace(_recommendation(plan, "open", text), more_blocks=blocks)


def _blocks(count: int) -> str:
    return f"{count} more block{'' if count == 1 else 's'}"


def _recommendation(
    plan: AttributionPlan, outcome: documents.Recommended, text: str
) -> documents.Recommendation:
    return documents.Recommendation(
        quantile=plan.main_quantile,
        loads=[load.name for load in plan.main_loads],
        outcome=outcome,
        levels=None,
        candidate=None,
        gain=None,
        prices=[],
        more_blocks=None,
        rule=_rule(plan),
        text=text,
    )


def _rule(plan: AttributionPlan) -> str:
    over = " on average over the loads" if len(plan.main_loads) > 1 else _at_loads(plan)
    return (
        f"a setting counts with {LEAST_RUNS} valid runs at each load; among those whose"
        f" {plan.main_quantile}{over} is shown to be below the present one, in comparisons that hold for"
        f" all settings together, and within {plan.delta.text} of the lowest, the one that changes the fewest"
        " factors is recommended; fresh runs then confirm it, or do not"
    )


def _at_loads(plan: AttributionPlan) -> str:
    """Name the requested load, or all loads."""
    if len(plan.main_loads) == 1:
        return f" at {plan.main_loads[0].name} load"
    return " over all loads"


def changes(plan: AttributionPlan, cell: Cell) -> int:
    """Return how many factors a cell changes from the present setting."""
    return sum(a != b for a, b in zip(cell, plan.control, strict=True))


def changed_text(plan: AttributionPlan, cell: Cell) -> str:
    """Describe what a cell changes from the present setting."""
    levels, now = plan.levels(cell), plan.levels(plan.control)
    return ", ".join(f"{name} = {level}" for name, level in levels.items() if now[name] != level)


def smallest(plan: AttributionPlan, models: list[FittedModel]) -> float:
    """Return the smallest difference that matters, in the unit of the fits, averaged over the loads."""
    return sum(one.scale("average").smallest(plan.delta) for one in models) / len(models)


def _ratio_to_control(
    plan: AttributionPlan, models: list[FittedModel], one: ControlDifference
) -> documents.Ratio:
    """Return a difference from the control as a ratio; on the additive scale, to the mean of the loads."""
    base = sum(_figure(model, plan.control) for model in models) / len(models)
    if plan.file.scale == "ratio":
        value, low, high = map(Scale(True, 1.0).figure, (one.value, one.low, one.high))
    else:
        value = 1.0 + one.value / base
        low, high = positive(value, 1.0 + one.low / base, 1.0 + one.high / base)
    return documents.Ratio(value=value, **bounds(low, high))


def _figure(model: FittedModel, cell: Cell) -> float:
    """Return a cell's figure by the model, µs."""
    assert model.fit is not None
    (value,), _, _ = model.fit.estimate(model.fit.rows([cell]))
    return math.exp(value) if model.ratio else float(value)


def _prices(
    plan: AttributionPlan, all_models: Mapping[Key, FittedModel], after: Cell, gained: float
) -> list[documents.Price]:
    """Return other percentiles and loads that the setting makes notably longer, worst first."""
    models = (
        {(load.name, plan.main_quantile) for load in plan.main_loads} if len(plan.main_loads) == 1 else set()
    )
    prices: list[documents.Price] = []
    for (load, label), one in all_models.items():
        if (load, label) in models or one.fit is None or not {after, plan.control} <= set(one.runs):
            continue
        (compared,) = control_differences([one.fit], plan.control, [after], one.confidence)
        if compared.value < one.scale("average").smallest(plan.delta):
            continue
        ratio = _ratio_to_control(plan, [one], compared)
        prices.append(
            documents.Price(
                load=load,
                quantile=label,
                before_us=_figure(one, plan.control),
                after_us=_figure(one, after),
                ratio=ratio,
                shown=compared.higher,
                more_than_gained=ratio.value > gained,
            )
        )
    return sorted(prices, key=lambda one: -one.ratio.value)


def _price_text(one: documents.Price) -> str:
    verb = "gets" if one.shown else "seems to get"
    return f"{one.quantile} at {one.load} load {verb} {times(one.ratio)}"


def times(ratio: documents.Ratio) -> str:
    """Format a ratio with its interval.

    >>> times(documents.Ratio(value=0.571, low=0.509, high=0.634))
    '0.571 times as long [0.509, 0.634]'
    """
    value, low, high = (_three(end) for end in (ratio.value, ratio.low, ratio.high))
    return f"{value} times as long [{low}, {high}]"


def _three(value: float | None) -> str:
    """Format three digits; extreme values are only bounded.

    >>> _three(0.5713), _three(248125835784.0), _three(0.0)
    ('0.571', '> 1000', '< 0.001')
    """
    if value is None or value > 1000.0:
        return "> 1000"
    return "< 0.001" if value < 0.001 else f"{value:.3g}"
