"""From the runs of all cells to the answer, ``attribution.json`` (`hindmost.commands.attribute.document`)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hindmost import __version__
from hindmost.commands.attribute import document as documents
from hindmost.commands.attribute import effects, model, sentences
from hindmost.commands.attribute.cells import CellRuns
from hindmost.commands.attribute.confirm import confirmations
from hindmost.commands.attribute.course import CONTROL
from hindmost.commands.attribute.design import Cell
from hindmost.commands.attribute.design.factors import term_text
from hindmost.commands.attribute.drift import drift_of
from hindmost.commands.attribute.plan import AttributionPlan, LoadPoint, folder_of
from hindmost.commands.attribute.recommend import recommendation
from hindmost.commands.attribute.runner import Runner
from hindmost.core.store import now_utc
from hindmost.core.store.estimates import Value, bounds, number, to_value
from hindmost.stats import mean_interval, positive_mean_interval

FILE = "attribution.json"


def answer(runner: Runner) -> documents.Attribution:
    """Compute the answer from a study's runs."""
    plan = runner.plan
    runs = _read_runs(runner)
    blocks = blocks_of(runs)
    confidence = plan.confidence(blocks)
    models = {
        (load.name, label): model.fit_model(plan, runs[load.name], label, confidence)
        for load in plan.loads
        for label in plan.labels
    }
    adjustment, answers = effects.answer_quantiles(plan, models)
    loads = [
        _load(runner, load, runs[load.name], {q: answers[load.name, q] for q in plan.labels})
        for load in plan.loads
    ]
    advice = recommendation(plan, models, runs)
    confirmed, unconfirmed = confirmations(runner, advice, loads)
    document = documents.Attribution(
        schema="hindmost.attribution/2",
        version=__version__,
        created=now_utc(),
        study=runner.study.folder.resolve().name,
        name=plan.file.name,
        target=plan.file.target,
        confidence=confidence,
        delta=plan.delta.share,
        delta_us=plan.delta.us,
        scale=plan.file.scale,
        adjustment=adjustment,
        quantiles=list(plan.labels),
        factors=_factors(plan),
        design=_design(plan, runs, blocks),
        loads=loads,
        recommendation=advice,
        confirmations=confirmed,
        unconfirmed=unconfirmed,
        applied=None,
        seconds_total=sum(entry.seconds for entry in runner.attempts.entries()),
        host=runner.study.manifest["host"],
        plan=plan.file.model_dump(mode="json") | {"measure": plan.measure.model_dump(mode="json")},
        verdict="invalid",
        headline="",
        summary=[],
        findings=[],
        reasons=[],
    )
    return sentences.write_answer(plan, document)


def _read_runs(runner: Runner) -> dict[str, dict[Cell, CellRuns]]:
    """Read the runs of every load and cell, by isolated latency unless all runs together rule it out."""
    readings, loads = runner.readings, runner.plan.loads
    readings.refused = None
    runs = {load.name: runs_of(runner, load) for load in loads}
    readings.judge(run for cells in runs.values() for one in cells.values() for run in one.runs)
    return runs if readings.refused is None else {load.name: runs_of(runner, load) for load in loads}


def runs_of(runner: Runner, load: LoadPoint) -> dict[Cell, CellRuns]:
    """Read the runs of every cell of the design at a load; the control's runs are added to its cell."""
    cells = {cell: _read(runner, load, folder_of(cell), cell) for cell in runner.plan.design.cells}
    control = runner.plan.control
    if control in cells:
        cells[control] = cells[control].join(control_of(runner, load))
    return cells


def control_of(runner: Runner, load: LoadPoint) -> CellRuns:
    """Read the control's runs at a load."""
    return _read(runner, load, CONTROL, runner.plan.control)


def _read(runner: Runner, load: LoadPoint, name: str, cell: Cell) -> CellRuns:
    where = (load.folder, name)
    return runner.readings.cell(runner.stored_part(load, name), cell, runner.attempts, where)


def _factors(plan: AttributionPlan) -> list[documents.Factor]:
    return [
        documents.Factor(
            name=factor.name,
            kind=kind,
            sets=sets,
            about=table.about,
            levels=list(factor.levels),
            change_s=factor.change_s or None,
        )
        for factor, (kind, sets), table in zip(plan.design.factors, plan.sets, plan.file.factor, strict=True)
    ]


def blocks_of(runs: Mapping[str, Mapping[Cell, CellRuns]]) -> int:
    """Return the number of blocks that were started."""
    every = [block for cells in runs.values() for one in cells.values() for block in one.blocks]
    return max(every, default=0)


def _design(
    plan: AttributionPlan, runs: Mapping[str, Mapping[Cell, CellRuns]], blocks: int
) -> documents.Design:
    design = plan.design
    return documents.Design(
        kind=design.kind,
        resolution=design.resolution,
        cells=len(design.cells),
        possible=math.prod(len(factor.levels) for factor in design.factors),
        blocks=blocks,
        runs=sum(len(one.runs) for cells in runs.values() for one in cells.values()),
        terms=[term_text(term) for term in design.terms],
        aliases={
            term_text(term): [term_text(other) for other in others]
            for term, others in design.aliases.items()
            if others
        },
        forbidden=[dict(one) for one in design.forbidden],
        control=plan.levels(plan.control),
        seed=plan.file.seed,
        whole_plots=design.whole_plots if design.hard_to_change else None,
    )


def _load(
    runner: Runner,
    load: LoadPoint,
    runs: Mapping[Cell, CellRuns],
    quantiles: dict[str, documents.QuantileAnswer],
) -> documents.Load:
    plan = runner.plan
    busy = [run.busy for one in runs.values() for run in one.runs if run.busy is not None]
    cpus = max(1, len(plan.measure.server_cpus))
    return documents.Load(
        name=load.name,
        rate_per_s=load.rate_per_s,
        busy_share=min(1.0, sum(busy) / len(busy) / cpus) if busy else None,
        cells=[_cell(plan, one) for one in runs.values()],
        quantiles=quantiles,
        interference=_interference(runner, runs),
        drift=drift_of(control_of(runner, load), plan.labels[-1]),
    )


def _interference(runner: Runner, runs: Mapping[Cell, CellRuns]) -> documents.HostInterference | None:
    """Summarise the interference at a load over the runs that count; None if it was not observed."""
    every = [run.isolated for one in runs.values() for run in one.runs]
    known = [isolated for isolated in every if isolated is not None and isolated.refused is None]
    if not known:
        return None
    return documents.HostInterference(
        runs=sum(isolated.interruptions > 0 for isolated in known),
        of=len(every),
        interference_share=sum(isolated.taken for isolated in known) / len(known),
        counted_share=sum(isolated.counted for isolated in known) / len(known),
        refused=None if runner.readings.refused is None else runner.readings.refused.document(),
    )


def _cell(plan: AttributionPlan, one: CellRuns) -> documents.Cell:
    labels = (*plan.labels, "mean")
    failure = one.failure or (None if one.runs else one.why_invalid)
    return documents.Cell(
        levels=plan.levels(one.cell),
        runs=len(one.runs),
        extra=one.extra,
        invalid=one.invalid,
        blocks=one.blocks,
        values={label: list(map(number, one.column(label))) for label in labels},
        latency_us={label: _figure(plan, one.column(label)) for label in labels if one.runs},
        measured_us={label: _figure(plan, one.measured_column(label)) for label in labels if one.runs},
        failure=None if failure is None else failure.document(),
    )


def _figure(plan: AttributionPlan, values: list[float]) -> Value:
    """Estimate a cell's figure as the model does: on the ratio scale, the geometric mean over runs."""
    if plan.file.scale == "us" or not all(0.0 < value < math.inf for value in values):
        return to_value(positive_mean_interval(values))
    mean = mean_interval([math.log(value) for value in values], skew_guard=False)
    return Value(value=math.exp(mean.value), **bounds(math.exp(mean.low), math.exp(mean.high)))
