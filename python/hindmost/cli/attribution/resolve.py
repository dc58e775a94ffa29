"""From a study file, or a study's folder, to a plan that was checked, and to the study's trials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from hindmost.cli.asked import plan_with
from hindmost.cli.begin import begin
from hindmost.design import Factor, choose, cost
from hindmost.design.cost import duration_text
from hindmost.design.offer import Offer, offer, runs_within
from hindmost.design.precision import DEFAULT_CV
from hindmost.errors import HindmostError, StudyError, UsageError
from hindmost.knobs import Knob, kind_of, knob_of
from hindmost.knobs.journal import FOLDER
from hindmost.plan import MeasurePlan, parse_duration, parse_percent, parse_rate, parse_runs
from hindmost.plan.factorial import FactorTable, StudyFile, load_study_file, read_study
from hindmost.run.readings import plan_of
from hindmost.store import Study
from hindmost.studies.attribution import (
    AttributionPlan,
    Trials,
    load_points,
    refuse_clashes,
    same_study,
)
from hindmost.targets import Managed, parse_target

BLOCKS = (10, 20)
"""Ten before the first look: with fewer, intervals are too short when runs come in two kinds."""
RESTART_S = 0.8
"""What a run takes beside warm-up and measurement: knobs, starting a server, calibrating, writing files."""


def resolve(
    where: Path, out: Path | None, *, budget: str | None, without: str | None
) -> tuple[AttributionPlan, Study | None]:
    """Everything that was asked for, checked before anything is changed or started.

    Parameters
    ----------
    where : Path
        A study file, or the folder of a study.

    Raises
    ------
    UsageError
        If something of it cannot be meant.
    HostUnfit
        If a factor cannot be set here.
    """
    if where.is_dir() and out is not None:
        raise UsageError("a study's folder takes no --out", hint=f"hindmost attribute {where}")
    folder = where if where.is_dir() else out
    study = Study.open(folder) if folder is not None and (folder / "manifest.json").exists() else None
    before = _file_of(study) if study is not None else None
    if where.is_dir():
        if before is None:
            raise UsageError(f"{where} holds no study", hint="hindmost attribute STUDY.toml")
        file = read_study(before, str(where))
        if without is not None:
            raise UsageError("factors cannot leave a study that goes on", hint=f"hindmost attribute {where}")
    else:
        file = _left_out(_beside(load_study_file(where), where.parent), without)
        if before is not None and (changed := same_study(before, file)):
            raise UsageError(
                f"{folder} was made with another {changed[0]}: runs would not be alike",
                hint="choose another --out; blocks, budget, delta and [confirm] may change",
            )
    if budget is not None:  # it decides the design: whoever goes on, or reports, must find the same
        file = file.model_copy(update={"design": file.design.model_copy(update={"budget": budget})})
    return _plan(file), study


def reopened(study: Study) -> Trials:
    """The trials of a stored study, to read them: of the study alone, on any machine."""
    file = read_study(_file_of(study), str(study.folder))
    found = study.manifest.get("sets")
    if not isinstance(found, list) or len(found) != len(file.factor):
        path = study.folder / "manifest.json"
        raise StudyError(f"{path} does not say what each factor sets", hint=f"head -c 2000 {path}")
    sets = tuple((str(kind), str(what)) for kind, what in found)
    return Trials(study, _designed(file, plan_of(study), None, (), sets))


def begun(plan: AttributionPlan, study: Study | None, out: Path | None) -> tuple[Study, Trials]:
    """The study's folder, new or to go on with, after the host was looked at."""
    file = plan.file.model_dump(mode="json")
    if study is not None:
        study.manifest["attribution"] = file
    opened, _ = begin(plan.measure, study, out, attribution=file, sets=plan.sets)
    return opened, Trials(opened, plan)


def told_before(plan: AttributionPlan) -> str:
    """What will be run, how long it takes, and what it cannot tell."""
    least, most = plan.blocks
    each = plan.run_s
    first, last = (cost(plan.design, n, each, RESTART_S, len(plan.loads)) for n in (least, most))
    span = first.text if least == most else f"{first.text}; at most {last.text}"
    names = ", ".join(f"{factor.name} ({', '.join(factor.levels)})" for factor in plan.design.factors)
    loads = ", ".join(f"{load.name} {load.rate_per_s:g}/s" for load in plan.loads)
    lines = [
        f"{plan.file.name}: {plan.file.target}; {loads}",
        f"factors: {names}",
        f"{plan.design.text}; {least}{f'..{most}' if most > least else ''} blocks: {span}",
    ]
    if not plan.file.confirm.skip:
        runs = 2 * plan.file.confirm.runs * len(plan.loads)
        lines.append(f"confirmation: {runs} runs, about {duration_text(runs * (each + RESTART_S))}")
    known = Offer(plan.design, least, first.runs, DEFAULT_CV).text[1:]
    return "\n".join([*lines, *(f"note: {one}" for one in known)])


def _file_of(study: Study) -> dict[str, Any]:
    file = study.manifest.get("attribution")
    if not isinstance(file, dict):
        raise UsageError(
            f"{study.folder} is a study, but not one of factors", hint=f"hindmost report {study.folder}"
        )
    return file


def _beside(file: StudyFile, folder: Path) -> StudyFile:
    """Files that a study file names lie beside it; their whole paths are kept, to go on from anywhere."""
    changes: dict[str, Any] = {}
    if (folder / file.target).is_file():
        changes["target"] = str((folder / file.target).resolve())
    if isinstance(workload := file.measure.get("workload"), str):
        changes["measure"] = {**file.measure, "workload": str((folder / workload).resolve())}
    return file.model_copy(update=changes)


def _left_out(file: StudyFile, without: str | None) -> StudyFile:
    """The study without some factors; each then stands as the target and the host have it."""
    if without is None:
        return file
    names = [name.strip() for name in without.split(",")]
    known = [factor.name for factor in file.factor]
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"--without {unknown[0]!r} is none of the factors: {', '.join(known)}")
    if not (left := [factor for factor in file.factor if factor.name not in names]):
        raise UsageError("--without leaves no factor", hint="hindmost measure TARGET")
    design = file.design.model_copy(
        update={
            "control": {k: v for k, v in file.design.control.items() if k not in names},
            "forbidden": [one for one in file.design.forbidden if not set(one) & set(names)],
        }
    )
    return file.model_copy(update={"factor": left, "design": design})


def _plan(file: StudyFile) -> AttributionPlan:
    target = parse_target(file.target)
    if not isinstance(target, Managed):
        raise UsageError(
            f"{file.target} runs already, and every run needs a server that is started anew with its setting",
            hint="a preset, or a target file with the commands that start and stop it (by ssh, if elsewhere)",
        )
    measure = _measure(file)
    knobs = tuple(_knob(one, target) for one in file.factor)
    refuse_clashes([one.name for one in file.factor], knobs)
    sets = tuple((knob.name.split()[0], ", ".join(sorted(knob.sets))) for knob in knobs)
    return _designed(file, measure, target, knobs, sets)


def _designed(
    file: StudyFile,
    measure: MeasurePlan,
    target: Managed | None,
    knobs: tuple[Knob, ...],
    sets: tuple[tuple[str, str], ...],
) -> AttributionPlan:
    """The plan with its design, which follows from the file and the length of a run."""
    factors = tuple(Factor(one.name, tuple(one.levels)) for one in file.factor)
    design = choose(
        factors,
        kind=file.design.kind,
        resolution=file.design.resolution,
        forbidden=file.design.forbidden,
    )
    blocks = parse_runs(file.design.blocks) if file.design.blocks is not None else BLOCKS
    if blocks[0] < 2:
        raise UsageError(
            f"design.blocks = {file.design.blocks!r}: one run of each cell does not say how runs scatter",
            hint='blocks = "10..20"',
        )
    plan = AttributionPlan(
        file=file,
        measure=measure,
        target=target,
        loads=load_points(file, [parse_rate(load.rate) for load in file.load]),
        knobs=knobs,
        sets=sets,
        design=design,
        blocks=blocks,
        control=design.control,
        delta=parse_percent(file.delta, "delta"),
    )
    return _within(_controlled(plan), file.design.budget)


def _controlled(plan: AttributionPlan) -> AttributionPlan:
    return replace(plan, control=plan.cell(plan.file.design.control)) if plan.file.design.control else plan


def _within(plan: AttributionPlan, budget: str | None) -> AttributionPlan:
    """The richest design and the blocks that a budget pays for, its confirmation included.

    Raises
    ------
    UsageError
        If it does not pay for any; names the least that would.
    """
    if budget is None:
        return plan
    allowed = parse_duration(budget, "budget")
    confirm = 0 if plan.file.confirm.skip else 2 * plan.file.confirm.runs * len(plan.loads)
    left = allowed - confirm * (plan.run_s + RESTART_S)
    design = plan.file.design
    try:
        found = offer(
            plan.design.factors,
            runs_within(max(left, 1e-9), plan.run_s, RESTART_S),
            kind=design.kind,
            resolution=design.resolution,
            forbidden=design.forbidden,
            loads=len(plan.loads),
            blocks=None if design.blocks is None else plan.blocks[0],
        )
    except UsageError as error:
        raise UsageError(
            f"--budget {budget}: {error.message}; a run takes {plan.run_s + RESTART_S:.1f} s, and the"
            f" confirmation {confirm} runs",
            hint=f"{error.hint}; or confirm.runs",
        ) from None
    return replace(plan, design=found.design, blocks=(found.blocks, found.blocks))


def _measure(file: StudyFile) -> MeasurePlan:
    """How each run is made, from the file's table of options of ``hindmost measure``."""
    changes = dict(file.measure)
    if "workload" in changes:
        changes["workload"] = Path(str(changes["workload"]))
    changes = {"warmup": "1s", "duration": "3s", "samples": 0} | changes
    if changes["warmup"] == "auto":
        raise UsageError('measure.warmup = "auto" cannot be: all runs must be alike', hint='warmup = "2s"')
    for name in ("server_cpus", "client_cpus", "duration", "warmup", "timeout", "stamps"):
        if name in changes:
            changes[name] = str(changes[name])
    asked = {"rate": file.load[0].rate, "quantiles": file.quantiles, "seed": file.seed, **changes}
    try:
        return plan_with(file.target, **asked)
    except UsageError as error:
        raise UsageError(f"[measure] of the study file: {error.message}", hint=error.hint) from None


def _knob(table: FactorTable, target: Managed) -> Knob:
    """What a factor sets, every level checked."""
    where = f"factor {table.name!r}"
    kind = kind_of(table.what, where)
    try:
        knob = knob_of(kind, table.what, target, FOLDER)
        for level in table.levels:
            knob.check(level)
    except HindmostError as error:
        left = f"leave it out: hindmost attribute STUDY.toml --without '{table.name}'"
        hint = error.hint if error.exit_code != 5 else f"{left}; {error.hint}" if error.hint else left
        raise type(error)(f"{where}: {error.message}", hint=hint) from None
    return knob
