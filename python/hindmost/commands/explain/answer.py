"""The answer, computed from the study's folder: parts of the path, culprits, outcomes of candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from hindmost import __version__
from hindmost._engine import Histogram
from hindmost.commands.compare.arms import BETWEEN_S, WARM_S
from hindmost.commands.compare.rounds import MARGIN
from hindmost.commands.explain import schedule, split
from hindmost.commands.explain.document import (
    SCHEMA,
    Confirmation,
    Culprit,
    Explanation,
    Outcome,
    Part,
    Ratio,
    Resolution,
    Side,
    Trial,
    Verdict,
)
from hindmost.commands.explain.request import State
from hindmost.commands.explain.sentences import headline, write_sentences
from hindmost.commands.measure import pictures
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.capacity import replies_per_s
from hindmost.core.run.figure_cache import run_figures
from hindmost.core.run.figures import Totals
from hindmost.core.run.readings import plan_of
from hindmost.core.store import Study, now_utc
from hindmost.core.store.estimates import bounds, number
from hindmost.core.study.kind import resume_command
from hindmost.core.tracing.document import Trace, read_trace
from hindmost.errors import StudyError
from hindmost.stats import compare_runs
from hindmost.stats.runs.before_after import LEAST_PAIRS

THROUGHPUT = "throughput"
UNDO = "hindmost host knobs restore"


def parts_of(study: Study, stage: str) -> dict[int, Study]:
    """Return the parts of a stage by side."""
    folders = sorted((study.folder / stage).glob("[0-9]*/manifest.json"))
    return {int(one.parent.name): Study.open(one.parent) for one in folders}


@cache
def _figures(folder: Path, run: int) -> dict[str, float]:
    # Cached, because a stored run never changes.
    part = Study.open(folder)
    stored = part.run(run)
    assert stored is not None
    plan = plan_of(part)
    found = run_figures(stored, plan)
    return {**found.values["latency"], THROUGHPUT: replies_per_s(found, plan)}


def figures(part: Study, run: int) -> dict[str, float]:
    """Return the latency percentiles and mean of a stored run, µs, and its replies per second."""
    return _figures(part.folder, run)


def rounds_of(study: Study, stage: str, by: str) -> dict[int, dict[int, float]]:
    """Return one figure of every stored run of a stage, by side and round."""
    return {
        side: {run.number: figures(part, run.number)[by] for run in part.runs()}
        for side, part in parts_of(study, stage).items()
    }


def spent_s(study: Study) -> float:
    """Return the duration of all stored runs, s."""
    stages = ("look", "try", "combine", *State.load(study).confirmations)
    return sum(_stage_s(study, stage) for stage in stages)


def _stage_s(study: Study, stage: str, side: int | None = None) -> float:
    parts = (
        [_traced_part(study)]
        if stage == "look"
        else [part for place, part in parts_of(study, stage).items() if side in (None, place)]
    )
    return sum(run.record.seconds for part in parts if part for run in part.runs())


def _traced_part(study: Study) -> Study | None:
    folder = study.folder / "look"
    return Study.open(folder) if (folder / "manifest.json").exists() else None


def typical_run_s(study: Study) -> float:
    """Return the duration of a run with server start and stop, s; an estimate until runs exist."""
    durations = [
        run.record.seconds
        for stage in ("try", "combine", *State.load(study).confirmations)
        for part in parts_of(study, stage).values()
        for run in part.runs()
    ]
    if durations:
        return float(np.median(durations))
    plan = plan_of(study)
    warm_s = WARM_S if plan.warmup == "auto" else plan.warmup
    return plan.duration_s + plan.calibration_s + warm_s + BETWEEN_S


def trace_of(study: Study) -> tuple[Trace | None, tuple[Part, ...], tuple[Culprit, ...]]:
    """Return the trace of the first run, the parts of the path and the culprits; empty without a trace."""
    look = _traced_part(study)
    run = None if look is None else look.run(1)
    if look is None or run is None or not (run.folder / "trace.json").exists():
        return None, (), ()
    trace = read_trace(run.folder / "trace.json")
    variance = _variance_us2(run_figures(run, plan_of(look)).totals.whole["latency"])
    return trace, split.split_tail(trace, variance), split.find_culprits(trace, variance)


def _variance_us2(histogram: Histogram) -> float | None:
    """Compute the variance from the middles of bins, µs²; None if a request was never answered."""
    if histogram.count == 0 or histogram.censored:
        return None
    low, high, counts = (np.frombuffer(part, dtype=np.uint64).astype(float) for part in histogram.bins())
    middle = (low + high) / 2e3
    return float(np.average((middle - np.average(middle, weights=counts)) ** 2, weights=counts))


def compare_sides(rounds: schedule.Rounds, confidence: float = schedule.CONFIDENCE) -> Ratio | None:
    """Estimate the ratio of the second side to the first by signed ranks of pairs; None without a pair."""
    logs = schedule.log_ratios(rounds, 1)
    if not logs:
        return None
    found = compare_runs([1.0] * len(logs), [math.exp(one) for one in logs], confidence).ratio
    return Ratio(found.value, **bounds(found.low, found.high))


def answer(study: Study) -> Explanation:
    """Build the document from all stored runs.

    Raises
    ------
    StudyError
        No run is finished.
    """
    plan, state = plan_of(study), State.load(study)
    if not spent_s(study):
        raise StudyError(
            "no-finished-runs",
            f"{study.folder} has no finished run",
            hint=resume_command(study),
            path=str(study.folder),
        )
    trace, parts, culprits = trace_of(study)
    confirmation = _confirmation(study, plan, state)
    verdict = _verdict(confirmation, state.by)
    trials = _trials(study, state, verdict)
    left_out = [*([state.untraced] if state.untraced else []), *state.left_out]
    explanation = Explanation(
        schema=SCHEMA,
        version=__version__,
        created=now_utc(),
        verdict=verdict,
        headline="",
        answer=(),
        study=study.folder.resolve().name,
        target=plan.target,
        rate_per_s=plan.rate_per_s,
        by=state.by,
        budget_s=state.budget_s,
        spent_s=spent_s(study),
        host=_host(study),
        cannot=tuple(left_out),
        parts=parts,
        culprits=culprits,
        own_code=split.own_code(parts),
        trials=tuple(trials),
        confirmation=confirmation,
        resolution=_resolution(study, state, confirmation.ratios.get(state.by) if confirmation else None),
        applied=tuple(state.applied),
        undo=UNDO if state.applied else None,
        profile=trace.profile if trace is not None and split.own_work_leads(parts) else None,
    )
    return _add_sentences(explanation, study)


def _add_sentences(explanation: Explanation, study: Study) -> Explanation:
    return msgspec.structs.replace(
        explanation,
        headline=headline(explanation),
        answer=write_sentences(explanation, _present_us(study, State.load(study)), resume_command(study)),
    )


def _present_us(study: Study, state: State) -> float | None:
    """Return the figure of the present state: the median of its untraced runs, or of the traced run."""
    by = state.by
    values = [
        value
        for stage in (*state.confirmations, "try")
        for value in rounds_of(study, stage, by).get(0, {}).values()
    ]
    if not values and (look := _traced_part(study)) is not None:
        values = [figures(look, run.number)[by] for run in look.runs()]
    return number(float(np.median(values))) if values else None


def _host(study: Study) -> str:
    """Summarise the host check in one line."""
    findings = study.manifest.get("host", {}).get("findings", [])
    bad = [one["title"] for one in findings if one["mark"] == "unfit"]
    return f"unfit: {', '.join(bad)}" if bad else "fit to measure"


def _verdict(confirmation: Confirmation | None, by: str) -> Verdict:
    ratio = None if confirmation is None else confirmation.ratios.get(by)
    if ratio is None or ratio.low is None or ratio.high is None:
        return "undecided"
    if ratio.high < 1.0:
        return "gain"
    return "no-gain" if ratio.low > 1.0 / (1.0 + MARGIN) else "undecided"


def _confirmation(study: Study, plan: MeasurePlan, state: State) -> Confirmation | None:
    parts = parts_of(study, state.confirmation)
    pairs = (
        sorted(set.intersection(*({run.number for run in one.runs()} for one in parts.values())))
        if len(parts) == 2
        else []
    )
    if not pairs:
        return None
    ratios = {}
    for name in (*plan.labels, "mean", THROUGHPUT):
        rounds = {side: {n: figures(part, n)[name] for n in pairs} for side, part in parts.items()}
        if (ratio := compare_sides(rounds)) is not None:
            ratios[name] = ratio
    candidates = state.candidates or ()
    return Confirmation(
        labels=tuple(candidates[place - 1].label for place in state.chosen or ()),
        pairs=len(pairs),
        confidence=schedule.CONFIDENCE,
        ratios=ratios,
        before=_side(parts[0], pairs, plan),
        after=_side(parts[1], pairs, plan),
        seconds=_stage_s(study, state.confirmation),
    )


def _side(part: Study, pairs: Sequence[int], plan: MeasurePlan) -> Side:
    totals = Totals()
    for run in pairs:
        stored = part.run(run)
        assert stored is not None
        totals.merge(run_figures(stored, plan_of(part)).totals)
    values = {
        name: np.median([figures(part, run)[name] for run in pairs])
        for name in (*plan.labels, "mean", THROUGHPUT)
    }
    rate = float(values.pop(THROUGHPUT))
    latency = {name: number(float(value)) for name, value in values.items()}
    return Side(latency, rate, pictures.curve(totals.whole["latency"]))


def _trials(study: Study, state: State, verdict: Verdict) -> list[Trial]:
    """Return the outcome of each candidate. Ratios of the rounds that chose a candidate support no claim."""
    rounds = rounds_of(study, "try", state.by)
    active, _ = schedule.survivors(rounds, len(state.candidates or ()))
    chosen = state.chosen or ()
    outcomes: dict[Verdict, Outcome] = {"gain": "confirmed", "no-gain": "refuted", "undecided": "undecided"}
    found = []
    for place, one in enumerate(state.candidates or (), 1):
        logs = schedule.log_ratios(rounds, place)
        ratio = compare_sides({0: rounds[0], 1: rounds[place]}, 0.95) if logs else None
        if place in chosen:
            outcome: Outcome = outcomes[verdict] if len(chosen) == 1 else "in combination"
        elif [place] in [list(group) for group in state.hopeless]:
            outcome = "not confirmed"
        elif logs and place not in active:
            outcome = "dropped"
        else:
            outcome = "undecided" if logs else "not tried"
        found.append(Trial(one, one.label, outcome, len(logs), ratio, _stage_s(study, "try", place)))
    return found


def _resolution(study: Study, state: State, fresh: Ratio | None) -> Resolution:
    """Estimate the scatter of pairs on this host, and which changes the budget can decide."""
    logs = [
        np.asarray(one)
        for stage in (*state.confirmations, "try")
        for side, rounds in [
            (side, rounds_of(study, stage, state.by)) for side in parts_of(study, stage) if side
        ]
        if len(one := schedule.log_ratios(rounds, side)) > 2
    ]
    run_s = typical_run_s(study)
    if sum(map(len, logs)) < LEAST_PAIRS:
        return Resolution(run_s, None, None, 2.0 * run_s * schedule.LOOKS[0] + _stage_s(study, "look"), None)
    # The median absolute deviation is used, so that one disturbed pair of ten does not dominate.
    scatter = 1.4826 * float(np.median(np.concatenate([np.abs(one - np.median(one)) for one in logs])))
    pairs = max(LEAST_PAIRS, len(logs[0]))
    before_s = spent_s(study) - sum(_stage_s(study, stage) for stage in state.confirmations)

    def budget(ratio: float) -> float:
        return before_s + 2.0 * run_s * schedule.pairs_to_decide(scatter, ratio)

    open_ = (
        fresh is not None and (fresh.high is None or fresh.high >= 1.0) and fresh.value < 1.0 / (1.0 + MARGIN)
    )
    needed = budget(fresh.value) if fresh is not None and open_ else None
    return Resolution(run_s, scatter, schedule.ratio_decided(scatter, pairs), budget(0.9), needed)
