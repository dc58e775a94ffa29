"""Confirmation: fresh runs of the recommended setting next to the present one (Treadmill, Figure 12).

The setting was chosen because its figure was lowest, so its own runs flatter it (the winner's curse), and
only fresh runs count. They are made in pairs of random order, and compared by the signed ranks of their log
ratios: a mean would call a change without effect "refuted" for one disturbed pair of four. Fewer than 6 pairs
decide nothing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Literal

from hindmost.commands.attribute import document as documents
from hindmost.commands.attribute.cells import CellRuns
from hindmost.commands.attribute.course import SIDES
from hindmost.commands.attribute.design import Cell
from hindmost.commands.attribute.plan import AttributionPlan, LoadPoint, folder_of
from hindmost.commands.attribute.recommend import times
from hindmost.commands.attribute.runner import CONFIRMATION, Runner
from hindmost.core.notes import Note
from hindmost.core.store.estimates import bounds, number, to_value
from hindmost.stats import Comparison, Estimate, compare_runs, positive_mean_interval
from hindmost.stats.runs.before_after import LEAST_PAIRS

Outcome = Literal["confirmed", "refuted", "undecided"]


def find_recommended(plan: AttributionPlan, advice: documents.Recommendation) -> Cell | None:
    """Return the recommended setting; None if there is none or it is the present one."""
    return None if advice.levels is None else plan.cell(advice.levels)


def confirmations(
    runner: Runner, advice: documents.Recommendation, loads: Sequence[documents.Load]
) -> tuple[list[documents.Confirmation], list[documents.UnconfirmedLoad]]:
    """Compare the fresh runs of both settings at each load; also return the loads without any, and why."""
    after = find_recommended(runner.plan, advice)
    if after is None:
        return [], []
    done: list[documents.Confirmation] = []
    left: list[documents.UnconfirmedLoad] = []
    for load, answer in zip(runner.plan.loads, loads, strict=True):
        found = _confirm_load(runner, load, answer, after)
        if isinstance(found, Note):
            left.append(documents.UnconfirmedLoad(load=load.name, why=found.document()))
        else:
            done.append(found)
    return done, left


def _confirm_load(
    runner: Runner, load: LoadPoint, answer: documents.Load, after: Cell
) -> documents.Confirmation | Note:
    """Return the confirmation at a load, or the reason why there is none."""
    plan, name = runner.plan, runner.plan.main_quantile
    cells = dict(zip(SIDES, (plan.control, after), strict=True))
    sides: dict[str, CellRuns] = {}
    for side, cell in cells.items():
        folder = f"{CONFIRMATION}/{side}/{folder_of(cell)}"
        if (part := runner.stored_part(load, folder)) is None:
            if plan.file.confirm.skip:
                return Note("confirmation-skipped", "[confirm] skip = true", {"key": "confirm.skip"})
            return Note("no-fresh-runs", "no fresh runs were made")
        sides[side] = runner.readings.cell(part, cell, runner.attempts, (load.folder, folder))
    if failure := next((one.failure for one in sides.values() if one.failure), None):
        return failure
    pairs = sorted(set(sides["before"].blocks) & set(sides["after"].blocks))
    if not pairs:
        excluded = next((one.why_invalid for one in sides.values() if one.why_invalid), None)
        why = "no pair was made" if excluded is None else excluded.text
        values = {} if excluded is None else {"why": excluded.code, **excluded.values}
        return Note("no-clean-pair", f"no pair of fresh runs counts: {why}", values)
    columns = {
        side: {label: _column(one, label, pairs) for label in (*plan.labels, "mean")}
        for side, one in sides.items()
    }
    compared = {
        label: compare_runs(columns["before"][label], columns["after"][label])
        for label in (*plan.labels, "mean")
        if all(map(math.isfinite, columns["before"][label] + columns["after"][label]))
    }
    if name not in compared:
        return Note("infinitely-late", f"{name} of a fresh run is infinitely late", {"quantile": name})
    outcome = _outcome(compared[name])
    return documents.Confirmation(
        load=load.name,
        quantile=name,
        before=_side(plan, cells["before"], columns["before"]),
        after=_side(plan, cells["after"], columns["after"]),
        ratio={label: _ratio(one.ratio) for label, one in compared.items()},
        spread_ratio={label: _ratio(one.spread) for label, one in compared.items() if one.spread is not None},
        predicted=_predicted_ratio(plan, answer, cells),
        outcome=outcome,
        least_pairs=_least_pairs(compared[name]),
        text=_text(outcome, load.name, name, compared[name]),
    )


def _column(one: CellRuns, label: str, blocks: Sequence[int]) -> list[float]:
    by_block = {run.block: run.values[label] for run in one.runs}
    return [by_block[block] for block in blocks]


def _outcome(one: Comparison) -> Outcome:
    if one.change == "lower":
        return "confirmed"
    return "refuted" if one.change == "higher" else "undecided"


def _side(plan: AttributionPlan, cell: Cell, columns: Mapping[str, list[float]]) -> documents.Side:
    return documents.Side(
        levels=plan.levels(cell),
        runs=len(next(iter(columns.values()))),
        latency_us={label: to_value(positive_mean_interval(values)) for label, values in columns.items()},
        values={label: list(map(number, values)) for label, values in columns.items()},
        between_runs_sd_us={
            label: statistics.stdev(values)
            for label, values in columns.items()
            if len(values) > 1 and all(map(math.isfinite, values))
        },
    )


def _ratio(one: Estimate) -> documents.Ratio:
    return documents.Ratio(value=one.value, **bounds(one.low, one.high))


def _predicted_ratio(
    plan: AttributionPlan, answer: documents.Load, cells: Mapping[str, Cell]
) -> dict[str, documents.Ratio]:
    """Return the model's ratio without an interval, because it uses the runs that chose the setting."""
    out: dict[str, documents.Ratio] = {}
    for label in plan.labels:
        values = {plan.cell(one.levels): one.value for one in answer.quantiles[label].predicted}
        if cells["before"] in values and cells["after"] in values and values[cells["before"]] > 0.0:
            ratio = values[cells["after"]] / values[cells["before"]]
            out[label] = documents.Ratio(value=ratio, low=None, high=None)
    return out


def _least_pairs(one: Comparison) -> int | None:
    """Return the smallest number of pairs that decides, if there are fewer."""
    return max(LEAST_PAIRS, one.pairs + one.needed) if one.needed else None


def _text(outcome: Outcome, load: str, name: str, one: Comparison) -> str:
    pairs = f"{one.pairs} fresh pair{'' if one.pairs == 1 else 's'}"
    if (least := _least_pairs(one)) is not None:
        return f"at {load} load not decided by {pairs}: at least {least} are needed"
    span = f"{times(_ratio(one.ratio))} over {pairs}"
    word = {
        "confirmed": f"confirmed: {name} is",
        "refuted": f"refuted: {name} is",
        "undecided": f"not confirmed: {name} is",
    }[outcome]
    return f"at {load} load {word} {span}"
