"""Which setting to recommend, and what fresh runs say of it beside the present one (Treadmill, Figure 12).

The setting with the least figure was chosen because it looked least, so its own runs flatter it (the
winner's curse): only fresh ones count.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hindmost.design import Cell
from hindmost.plan import parse_quantiles
from hindmost.plan.units import label
from hindmost.stats import Confirmation, Ratio, confirmed, mean_interval
from hindmost.store import attribution as documents
from hindmost.store.attribution import Evidence
from hindmost.store.estimates import bounds, number, written
from hindmost.studies.attribution.cells import CellRuns
from hindmost.studies.attribution.course import SIDES
from hindmost.studies.attribution.plan import AttributionPlan, LoadPoint, folder_of
from hindmost.studies.attribution.runner import CONFIRMATION, Runner

LEAST = 4
"""Below, a ratio's interval says nothing."""


def wanted(plan: AttributionPlan) -> str:
    """The quantile that the recommended setting makes low."""
    asked = plan.file.confirm.quantile
    return plan.labels[-1] if asked is None else label(parse_quantiles(asked)[0])


def recommended(plan: AttributionPlan, document: Evidence) -> Cell | None:
    """The setting to use: the least figure, over several loads the least product of figures.

    Of settings that differ by less than what matters, the one that changes least of the control is taken.
    None where some load has no answer.
    """
    name, at = wanted(plan), plan.file.confirm.load
    logs: dict[Cell, float] = {}
    loads = [load for load in document["loads"] if at is None or load["name"] == at]
    for load in loads:
        ranking = load["quantiles"][name]["best"]
        if not ranking:
            return None
        for one in ranking:
            cell = plan.cell(one["levels"])
            logs[cell] = logs.get(cell, 0.0) + math.log(max(one["value"], 1e-3))
    common = [
        cell
        for cell in logs
        if all(
            any(plan.cell(one["levels"]) == cell for one in load["quantiles"][name]["best"]) for load in loads
        )
    ]
    if not common:
        return None
    enough = min(logs[cell] for cell in common) + len(loads) * math.log1p(plan.delta)
    near = [cell for cell in common if logs[cell] <= enough]
    return min(near, key=lambda cell: (_changes(plan, cell), logs[cell], cell))


def _changes(plan: AttributionPlan, cell: Cell) -> int:
    return sum(a != b for a, b in zip(cell, plan.control, strict=True))


def confirmations(runner: Runner, document: Evidence) -> list[documents.Confirmation]:
    """What the fresh runs of the recommended setting and of the control say, load by load."""
    plan = runner.plan
    after = recommended(plan, document)
    if after is None or after == plan.control:
        return []
    return [
        one
        for place, load in enumerate(plan.loads)
        if (one := _at(runner, load, document["loads"][place], after)) is not None
    ]


def _at(
    runner: Runner, load: LoadPoint, answer: documents.Load, after: Cell
) -> documents.Confirmation | None:
    plan = runner.plan
    cells = dict(zip(SIDES, (plan.control, after), strict=True))
    sides: dict[str, CellRuns] = {}
    for side, cell in cells.items():
        name = f"{CONFIRMATION}/{side}/{folder_of(cell)}"
        if (part := runner.stored(load, name)) is None:
            return None
        sides[side] = runner.readings.cell(part, cell, runner.attempts, (load.folder, name))
    pairs = sorted(set(sides["before"].blocks) & set(sides["after"].blocks))
    if len(pairs) < LEAST or any(one.failure for one in sides.values()):
        return None
    columns = {
        side: {name: _column(one, name, pairs) for name in (*plan.labels, "mean")}
        for side, one in sides.items()
    }
    finite = {
        name: confirmed(columns["before"][name], columns["after"][name], paired=True)
        for name in (*plan.labels, "mean")
        if all(map(math.isfinite, columns["before"][name] + columns["after"][name]))
    }
    name = wanted(plan)
    if name not in finite:
        return None
    ratios = {n: _ratio(plan, columns, n, one) for n, one in finite.items()}
    outcome = _outcome(ratios[name])
    return {
        "load": load.name,
        "quantile": name,
        "before": _side(plan, cells["before"], columns["before"]),
        "after": _side(plan, cells["after"], columns["after"]),
        "ratio": {n: _written(ratios[n]) for n in finite},
        "variance_ratio": {n: _written(one.variances) for n, one in finite.items() if one.variances},
        "variance_p": {n: one.spread_p for n, one in finite.items()},
        "predicted": _promised(plan, answer, cells),
        "outcome": outcome,
        "text": _text(outcome, load.name, name, ratios[name], len(pairs)),
    }


def _column(one: CellRuns, name: str, blocks: Sequence[int]) -> list[float]:
    by_block = {run.block: run.values[name] for run in one.runs}
    return [by_block[block] for block in blocks]


def _ratio(plan: AttributionPlan, columns: Mapping[str, Any], name: str, one: Confirmation) -> Ratio:
    """After over before: of means; on the scale of ratios the geometric mean over pairs.

    One run of a kind of its own may carry a mean of a few; it is one pair of many in a mean of logarithms.
    """
    if plan.file.scale == "us":
        return one.means
    sides = zip(columns["before"][name], columns["after"][name], strict=True)
    logs = mean_interval([math.log(after / before) for before, after in sides])
    return Ratio(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high))


def _outcome(by: Ratio) -> Literal["confirmed", "refuted", "undecided"]:
    if by.high < 1.0:
        return "confirmed"
    return "refuted" if by.low > 1.0 else "undecided"


def _side(plan: AttributionPlan, cell: Cell, columns: Mapping[str, list[float]]) -> documents.Side:
    return {
        "levels": plan.levels(cell),
        "runs": len(next(iter(columns.values()))),
        "latency_us": {name: written(mean_interval(values), least=0.0) for name, values in columns.items()},
        "values": {name: list(map(number, values)) for name, values in columns.items()},
        "between_runs_sd_us": {name: statistics.stdev(values) for name, values in columns.items()},
    }


def _written(one: Ratio) -> documents.Ratio:
    return {"value": one.value, **bounds(one.low, one.high)}


def _promised(
    plan: AttributionPlan, answer: documents.Load, cells: Mapping[str, Cell]
) -> dict[str, documents.Ratio]:
    """The ratio that the model says, without an interval: it is of the same runs that chose the setting."""
    out: dict[str, documents.Ratio] = {}
    for name in plan.labels:
        values = {plan.cell(one["levels"]): one["value"] for one in answer["quantiles"][name]["predicted"]}
        if cells["before"] in values and cells["after"] in values and values[cells["before"]] > 0.0:
            ratio = values[cells["after"]] / values[cells["before"]]
            out[name] = {"value": ratio, "low": None, "high": None}
    return out


def _text(outcome: str, load: str, name: str, by: Ratio, pairs: int) -> str:
    span = f"{by.value:.3f} times as long [{by.low:.3f}, {by.high:.3f}] over {pairs} fresh pairs"
    word = {
        "confirmed": "confirmed: the recommended setting lowers",
        "refuted": "refuted: the recommended setting raises",
        "undecided": "not decided whether the recommended setting lowers",
    }[outcome]
    return f"at {load} load {word} {name}, {span}"
