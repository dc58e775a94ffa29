"""From a checked study file, or a study's manifest, to a plan with its design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hindmost.commands.attribute.design import Factor, choose
from hindmost.commands.attribute.design.offer import offer, runs_within
from hindmost.commands.attribute.plan import AttributionPlan, load_points, refuse_clashes
from hindmost.commands.attribute.scale import Smallest
from hindmost.core.knobs import Knob, kind_of, knob_of
from hindmost.core.knobs.force import refuse_words
from hindmost.core.knobs.journal import FOLDER
from hindmost.core.knobs.knob import can_be_kept
from hindmost.core.plan import MeasurePlan, parse_duration, parse_percent, parse_rate, parse_runs
from hindmost.core.plan.factorial import FactorTable, StudyFile, read_study
from hindmost.core.run.readings import plan_of
from hindmost.core.store import Study
from hindmost.core.targets import Managed, parse_target
from hindmost.errors import HindmostError, HostUnfit, StudyError, UsageError

BLOCKS = (10, 20)
"""Blocks at least and at most. With fewer than ten before the first look, intervals are too short if runs
come in two kinds."""
RESTART_S = 0.8
"""Time of a run besides warm-up and measurement, s: settings, server start, calibration, files."""


def make_plan(file: StudyFile, measure: MeasurePlan, *, dry: bool = False) -> AttributionPlan:
    """Return the plan of a study whose runs can be made on this host, with every level checked.

    Parameters
    ----------
    dry : bool
        Try nothing; what only a trial shows (a command's answer, a group) then stays open.

    Raises
    ------
    UsageError
        The target is already running, or the factors or the design are not valid.
    HostUnfit
        A factor cannot be set on this host.
    """
    target = parse_target(file.target)
    if not isinstance(target, Managed):
        raise UsageError(
            "needs-managed-target",
            f"{file.target} is already running, but each run must start the server with its setting",
            hint="use a preset, or a target file with the commands that start and stop it",
            target=file.target,
        )
    there = measure.server_host is not None
    knobs = tuple(_knob(one, target, dry=dry, there=there) for one in file.factor)
    refuse_clashes([one.name for one in file.factor], knobs)
    if there:
        _refuse_set_already(file, measure, knobs)
    sets = tuple((knob.name.split()[0], ", ".join(sorted(knob.sets))) for knob in knobs)
    return _add_design(file, measure, target, knobs, sets)


def plan_to_run(study: Study) -> AttributionPlan:
    """Return the plan of a study that starts or is resumed."""
    return make_plan(read_study(study.part("attribution", dict), str(study.folder)), plan_of(study))


def plan_to_read(study: Study) -> AttributionPlan:
    """Return the plan of a stored study, without server and settings, on any machine.

    Raises
    ------
    StudyError
        Its manifest is incomplete.
    """
    file = read_study(study.part("attribution", dict), str(study.folder))
    sets = study.part("sets", tuple[tuple[str, str], ...])
    if len(sets) != len(file.factor):
        path = study.folder / "manifest.json"
        raise StudyError(
            "bad-file",
            f"{path} does not contain what each factor sets",
            hint=f"head -c 2000 {path}",
            path=str(path),
            key="sets",
        )
    return _add_design(file, plan_of(study), None, (), sets)


def _add_design(
    file: StudyFile,
    measure: MeasurePlan,
    target: Managed | None,
    knobs: tuple[Knob, ...],
    sets: tuple[tuple[str, str], ...],
) -> AttributionPlan:
    """Add the design, which follows from the file and the length of a run."""
    factors = tuple(_factor(one) for one in file.factor)
    design = choose(
        factors,
        kind=file.design.kind,
        resolution=file.design.resolution,
        forbidden=file.design.forbidden,
    )
    blocks = parse_runs(file.design.blocks) if file.design.blocks is not None else BLOCKS
    if blocks[0] < 2:
        raise UsageError(
            "bad-value",
            f"design.blocks = {file.design.blocks!r}: one run of each cell cannot show how runs vary",
            hint='blocks = "10..20"',
            key="design.blocks",
            value=file.design.blocks,
            least=2,
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
        delta=_smallest(file),
    )
    if plan.main_quantile not in plan.labels:
        raise UsageError(
            "unknown-name",
            f"confirm.quantile = {plan.main_quantile} is not measured: quantiles = {file.quantiles!r}",
            hint=f'quantiles = "{file.quantiles},{plan.main_quantile.removeprefix("p")}"',
            key="confirm.quantile",
            name=plan.main_quantile,
            known=list(plan.labels),
        )
    if file.design.control:
        plan = replace(plan, control=plan.cell(file.design.control))
    return _within(plan, file.design.budget)


def _factor(table: FactorTable) -> Factor:
    change_s = 0.0 if table.change_time is None else parse_duration(table.change_time, "change_time", 0.001)
    return Factor(table.name, tuple(table.levels), change_s)


def _smallest(file: StudyFile) -> Smallest:
    """Return the smallest effect that matters: a share, or a time on the additive scale."""
    try:
        return Smallest(parse_percent(file.delta, "delta"))
    except UsageError:
        if not file.delta.strip().lower().endswith("s"):
            raise
        us = parse_duration(file.delta, "delta") * 1e6
    if file.scale != "us":
        raise UsageError(
            "bad-value",
            f'delta = {file.delta!r} is a time, but effects are shares when scale = "ratio"',
            hint='delta = "5%", or scale = "us"',
            key="delta",
            value=file.delta,
            scale=file.scale,
        )
    if us <= 0.0:
        raise UsageError(
            "bad-value",
            f"delta = {file.delta!r} must be greater than zero",
            hint='delta = "20us"',
            key="delta",
            value=file.delta,
        )
    return Smallest(us=us)


def _within(plan: AttributionPlan, budget: str | None) -> AttributionPlan:
    """Choose the richest design and the number of blocks that a budget allows, including the confirmation.

    Raises
    ------
    UsageError
        The budget allows none; the error names the smallest that would.
    """
    if budget is None:
        return plan
    allowed = parse_duration(budget, "budget")
    confirm = 0 if plan.file.confirm.skip else 2 * plan.file.confirm.runs * len(plan.loads)
    left = allowed - confirm * (plan.run_s + RESTART_S + plan.change_s)
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
            run_s=plan.run_s + RESTART_S,
        )
    except UsageError as error:
        raise UsageError(
            error.code,
            f"--budget {budget}: {error.message}; a run takes {plan.run_s + RESTART_S:.1f} s, and the"
            f" confirmation needs {confirm} runs",
            hint=f"{error.hint}, or fewer confirm.runs",
            **{
                **error.fields,
                "option": "--budget",
                "run_s": plan.run_s + RESTART_S,
                "confirmation": confirm,
            },
        ) from None
    return replace(plan, design=found.design, blocks=(found.blocks, found.blocks))


def _refuse_set_already(file: StudyFile, measure: MeasurePlan, knobs: Sequence[Knob]) -> None:
    """Refuse a factor that ``[target]`` of the fleet file already sets for the whole study."""
    fixed = {f"host:{name}" for name in (measure.fleet or {})["target"].get("knobs", {})}
    for table, knob in zip(file.factor, knobs, strict=True):
        if met := sorted(knob.sets & fixed):
            raise UsageError(
                "conflicting-factors",
                f"factor {table.name!r} sets {met[0]}, which [target] of the fleet file sets too",
                hint="remove it from one of them",
                factors=[table.name],
                sets=met[0],
            )


def _knob(table: FactorTable, target: Managed, *, dry: bool, there: bool) -> Knob:
    """Return the setting of a factor, with every level checked, and tried if it takes a trial.

    If the server is on another host (`there`), that host checks the levels in the rehearsal.
    """
    where = f"factor {table.name!r}"
    kind = kind_of(table.setting, where)
    try:
        knob = knob_of(kind, table.setting, target, FOLDER)
        if table.change_time is not None:
            _refuse_change_time(knob, there=there)
        if there:
            refuse_words(table.setting, "it")
            for level in table.levels:
                knob.spec(target.spec, level)
            return knob
        for level in table.levels:
            knob.check(level)
            if not dry:
                knob.attempt(level)
    except HindmostError as error:
        hint = error.hint
        if isinstance(error, HostUnfit):
            left = f"leave it out: hindmost attribute STUDY.toml --without '{table.name}'"
            hint = f"{left}; {hint}" if hint else left
        fields = {**error.fields, "factor": table.name}
        raise type(error)(error.code, f"{where}: {error.message}", hint=hint, **fields) from None
    return knob


def _refuse_change_time(knob: Knob, *, there: bool) -> None:
    """Refuse a change time where the level could not be kept for several runs."""
    if there:
        raise UsageError(
            "server-elsewhere",
            "change_time needs a server on this host: another host sets all factors anew for each run",
            hint="remove change_time",
            key="change_time",
        )
    if not can_be_kept(knob):
        raise UsageError(
            "bad-value",
            f"change_time does not apply to {knob.name}: each run sets it on a fresh server",
            hint="remove change_time; it is for settings of the host and for commands",
            key="change_time",
            name=knob.name,
        )
