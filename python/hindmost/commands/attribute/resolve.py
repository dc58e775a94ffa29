"""From a study file or a study's folder to a checked plan and the study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hindmost.commands.attribute.cells import LEAST_RUNS
from hindmost.commands.attribute.design import cost
from hindmost.commands.attribute.design.offer import Offer
from hindmost.commands.attribute.design.precision import DEFAULT_CV
from hindmost.commands.attribute.plan import AttributionPlan, same_study
from hindmost.commands.attribute.planning import RESTART_S, make_plan
from hindmost.core.knobs.knob import needs_attempt
from hindmost.core.plan import MeasurePlan, parse_runs
from hindmost.core.plan.factorial import StudyFile, load_study_file, read_study
from hindmost.core.plan.secrets import trust
from hindmost.core.plan.units import format_duration, parse_share
from hindmost.core.plan.workload import named_workloads
from hindmost.core.run.readings import plan_of
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store import Study
from hindmost.core.study.begin import begin, continue_study
from hindmost.core.study.kind import refuse_another
from hindmost.errors import UsageError
from hindmost.stats.runs.before_after import LEAST_PAIRS


def resolve(
    where: Path,
    out: Path | None,
    *,
    budget: str | None,
    without: str | None,
    remake: str | None = None,
    dry: bool = False,
) -> tuple[AttributionPlan, Study | None]:
    """Read and check everything that was requested, before anything is changed or started.

    Parameters
    ----------
    where : Path
        A study file, or a study's folder.
    dry : bool
        Run nothing that the file names, not even to check it.

    Raises
    ------
    UsageError
        The file or an option is not valid.
    HostUnfit
        A factor cannot be set on this host.
    """
    if where.is_dir() and out is not None:
        raise UsageError(
            "conflicting-options",
            f"--out does not go with {where}, which is a study's folder already",
            hint=f"hindmost attribute {where}",
            option="--out",
            value=str(out),
        )
    folder = where if where.is_dir() else out
    study = Study.open(folder) if folder is not None and (folder / "manifest.json").exists() else None
    before = None
    if study is not None:
        refuse_another(study, "attribution")
        before = study.part("attribution", dict)
    if where.is_dir():
        if before is None:
            raise UsageError(
                "no-such-study",
                f"{where} contains no study",
                hint="hindmost attribute STUDY.toml",
                path=str(where),
            )
        file = read_study(before, str(where))
        if without is not None:
            raise UsageError(
                "study-differs",
                "--without cannot remove factors from a study that has started",
                hint=f"hindmost attribute {where}",
                option="--without",
                value=without,
            )
    else:
        file = _drop_factors(_resolve_paths(load_study_file(where), where.parent), without)
        trust(file.model_dump(mode="json"))  # the user named this file
        _refuse_too_few(file)
        if before is not None and (changed := same_study(before, file)):
            raise UsageError(
                "study-differs",
                f"{folder} was started with another {changed[0]}, so new runs would not be comparable",
                hint="choose another --out; only blocks, budget, remake, delta and [confirm] may change",
                path=str(folder),
                key=changed[0],
            )
    if budget is not None:  # the budget determines the design, so it is stored for resuming and reporting
        file = file.model_copy(update={"design": file.design.model_copy(update={"budget": budget})})
    if remake is not None:
        file = file.model_copy(update={"measure": {**file.measure, "remake": remake}})
    measure = _measure(file) if study is None else _update_repeats(plan_of(study), file)
    return make_plan(file, measure, dry=dry), study


def preview(plan: AttributionPlan) -> str:
    """Describe what will be run, how long it takes, and what it cannot decide."""
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
    if hard := plan.design.hard_to_change:
        lines.append(
            f"split plot: each block sets {', '.join(hard)} {plan.design.whole_plots} times, which takes"
            f" {format_duration(plan.design.change_s)}"
        )
    if not plan.file.confirm.skip:
        runs = 2 * plan.file.confirm.runs * len(plan.loads)
        seconds = runs * (each + RESTART_S + plan.change_s)
        lines.append(
            f"confirmation: {runs} runs, {'at most' if hard else 'about'} {format_duration(seconds)}"
        )
    known = Offer(plan.design, least, first.runs, DEFAULT_CV).text[1:]
    return "\n".join([*lines, *(f"note: {one}" for one in known)])


def note_untried(plan: AttributionPlan) -> str:
    """Name the factors that a dry run leaves untried; empty if there are none."""
    factors = zip(plan.file.factor, plan.knobs, strict=True)
    names = [one.name for one, knob in factors if needs_attempt(knob)]
    return f"note: a dry run does not try {', '.join(names)}" if names else ""


def _refuse_too_few(file: StudyFile) -> None:
    """Refuse designs that cannot decide anything, before hours are spent on them."""
    blocks = file.design.blocks
    if blocks is not None and parse_runs(blocks)[0] < LEAST_RUNS:
        raise UsageError(
            "bad-value",
            f"design.blocks = {blocks!r}: a setting counts only with {LEAST_RUNS} runs or more",
            hint='blocks = "10..20"',
            key="design.blocks",
            value=blocks,
            least=LEAST_RUNS,
        )
    if file.confirm.runs < LEAST_PAIRS and not file.confirm.skip:
        raise UsageError(
            "bad-value",
            f"confirm.runs = {file.confirm.runs}: fewer than {LEAST_PAIRS} pairs decide nothing",
            hint="runs = 20, or skip = true",
            key="confirm.runs",
            value=file.confirm.runs,
            least=LEAST_PAIRS,
        )


def _resolve_paths(file: StudyFile, folder: Path) -> StudyFile:
    """Resolve paths relative to the study file, so that the study can be resumed from any directory."""
    changes: dict[str, Any] = {}
    if (folder / file.target).is_file():
        changes["target"] = str((folder / file.target).resolve())
    if isinstance(workload := file.measure.get("workload"), str) and workload not in named_workloads():
        changes["measure"] = {**file.measure, "workload": str((folder / workload).resolve())}
    if isinstance(fleet := file.measure.get("fleet"), str) and (folder / fleet).is_file():
        measure = changes.get("measure", file.measure)
        changes["measure"] = {**measure, "fleet": str((folder / fleet).resolve())}
    return file.model_copy(update=changes)


def _drop_factors(file: StudyFile, without: str | None) -> StudyFile:
    """Remove factors from the study; each then keeps the level that the target and the host have."""
    if without is None:
        return file
    names = [name.strip() for name in without.split(",")]
    known = [factor.name for factor in file.factor]
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            "unknown-name",
            f"--without {unknown[0]!r} is not a factor; the factors are {', '.join(known)}",
            option="--without",
            name=unknown[0],
            known=known,
        )
    if not (left := [factor for factor in file.factor if factor.name not in names]):
        raise UsageError(
            "bad-value",
            "--without leaves no factor",
            hint="hindmost measure TARGET",
            option="--without",
            value=without,
        )
    design = file.design.model_copy(
        update={
            "control": {k: v for k, v in file.design.control.items() if k not in names},
            "forbidden": [one for one in file.design.forbidden if not set(one) & set(names)],
        }
    )
    return file.model_copy(update={"factor": left, "design": design})


def _measure(file: StudyFile) -> MeasurePlan:
    """Build the plan of each run from the file's options of ``hindmost measure``."""
    options = {"warmup": "1s", "duration": "3s", **file.measure}
    if options["warmup"] == "auto":
        raise UsageError(
            "bad-value",
            'measure.warmup = "auto" is not allowed here: all runs must be alike',
            hint='warmup = "2s"',
            key="measure.warmup",
            value="auto",
        )
    first = {"target": file.target, "rate": file.load[0].rate, "quantiles": file.quantiles, "seed": file.seed}
    try:
        return MeasureRequest.from_options({**first, **options}).plan()
    except UsageError as error:
        raise UsageError(
            error.code, f"[measure] of the study file: {error.message}", hint=error.hint, **error.fields
        ) from None


def _update_repeats(plan: MeasurePlan, file: StudyFile) -> MeasurePlan:
    """Return the plan of a resumed study, with the repeat budget of the present file."""
    remake = file.measure.get("remake")
    return (
        plan if remake is None else plan.model_copy(update={"remake": parse_share(str(remake), "--remake")})
    )


def open_attribution(plan: AttributionPlan, study: Study | None, out: Path | None) -> Study:
    """Create or resume the study's folder, after the host check."""
    file = plan.file.model_dump(mode="json")
    if study is not None:
        return continue_study(study, plan.measure, attribution=file)
    return begin(plan.measure, out, "attribution", attribution=file, sets=plan.sets)
