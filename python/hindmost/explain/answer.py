"""The answer from the study's folder alone: parts, culprits, and what became of each candidate."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hindmost import __version__
from hindmost._engine import Histogram
from hindmost.errors import StudyError
from hindmost.explain import course, split
from hindmost.explain.document import (
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
from hindmost.explain.request import Asked
from hindmost.explain.words import five_sentences, headline
from hindmost.plan import MeasurePlan
from hindmost.run.capacity import replies_per_s
from hindmost.run.figure_cache import run_figures
from hindmost.run.figures import Totals
from hindmost.run.readings import plan_of
from hindmost.stats import compare_runs
from hindmost.stats.runs.before_after import LEAST_PAIRS
from hindmost.store import Study, now_utc
from hindmost.store.estimates import bounds, number
from hindmost.studies.comparison.arms import BETWEEN_S, WARM_S
from hindmost.studies.comparison.rounds import MARGIN
from hindmost.studies.kind import again
from hindmost.studies.measure import pictures

THROUGHPUT = "throughput"
UNDO = "hindmost host knobs restore"


def parts_of(study: Study, stage: str) -> dict[int, Study]:
    """The parts of a stage by side."""
    folders = sorted((study.folder / stage).glob("[0-9]*/manifest.json"))
    return {int(one.parent.name): Study.open(one.parent) for one in folders}


@cache
def _figures(folder: Path, run: int) -> dict[str, float]:
    """A stored run never changes."""
    part = Study.open(folder)
    stored = part.run(run)
    assert stored is not None
    plan = plan_of(part)
    found = run_figures(stored, plan)
    return {**found.values["latency"], THROUGHPUT: replies_per_s(found, plan)}


def figures(part: Study, run: int) -> dict[str, float]:
    """Percentiles and mean of latency of a stored run, in microseconds, and its replies a second."""
    return _figures(part.folder, run)


def rounds_of(study: Study, stage: str, by: str) -> dict[int, dict[int, float]]:
    """A figure of every stored run of a stage, by side and round."""
    return {
        side: {run.number: figures(part, run.number)[by] for run in part.runs()}
        for side, part in parts_of(study, stage).items()
    }


def spent_s(study: Study) -> float:
    """What all stored runs took."""
    return sum(_stage_s(study, stage) for stage in ("look", "try", "combine", "confirm"))


def _stage_s(study: Study, stage: str, side: int | None = None) -> float:
    parts = (
        [_look(study)]
        if stage == "look"
        else [part for place, part in parts_of(study, stage).items() if side in (None, place)]
    )
    return sum(float(run.record["seconds"]) for part in parts if part for run in part.runs())


def _look(study: Study) -> Study | None:
    folder = study.folder / "look"
    return Study.open(folder) if (folder / "manifest.json").exists() else None


def typical_run_s(study: Study) -> float:
    """What a run takes, starting and stopping the server included; a guess until some are there."""
    taken = [
        float(run.record["seconds"])
        for stage in ("try", "combine", "confirm")
        for part in parts_of(study, stage).values()
        for run in part.runs()
    ]
    if taken:
        return float(np.median(taken))
    plan = plan_of(study)
    warm_s = WARM_S if plan.warmup == "auto" else plan.warmup
    return plan.duration_s + plan.calibration_s + warm_s + BETWEEN_S


def look_of(study: Study) -> tuple[Mapping[str, Any] | None, tuple[Part, ...], tuple[Culprit, ...]]:
    """The trace of the first run, with the parts of the path and the culprits, if there is one."""
    look = _look(study)
    run = None if look is None else look.run(1)
    if look is None or run is None or not (run.folder / "trace.json").exists():
        return None, (), ()
    trace = json.loads((run.folder / "trace.json").read_text(encoding="utf-8"))
    variance = _variance_us2(run_figures(run, plan_of(look)).totals.whole["latency"])
    return trace, split.split(trace, variance), split.culprits(trace, variance)


def _variance_us2(histogram: Histogram) -> float | None:
    """By the middles of bins; None where a request was never answered."""
    if histogram.count == 0 or histogram.censored:
        return None
    low, high, counts = (np.frombuffer(part, dtype=np.uint64).astype(float) for part in histogram.bins())
    middle = (low + high) / 2e3
    return float(np.average((middle - np.average(middle, weights=counts)) ** 2, weights=counts))


def compared(rounds: course.Rounds, confidence: float = course.CONFIDENCE) -> Ratio | None:
    """The second side over the first, by signed ranks of pairs; None without a pair."""
    logs = course.log_ratios(rounds, 1)
    if not logs:
        return None
    found = compare_runs([1.0] * len(logs), [math.exp(one) for one in logs], confidence).ratio
    return Ratio(found.value, **bounds(found.low, found.high))


def answer(study: Study) -> Explanation:
    """Everything that the runs say, read anew.

    Raises
    ------
    StudyError
        If no run is finished.
    """
    plan, asked = plan_of(study), Asked.of(study)
    if not spent_s(study):
        raise StudyError(
            "no-finished-runs",
            f"{study.folder} has no finished run",
            hint=again(study),
            path=str(study.folder),
        )
    _, parts, culprits = look_of(study)
    confirmation = _confirmation(study, plan, asked)
    verdict = _verdict(confirmation, asked.by)
    trials = _trials(study, asked, verdict)
    left_out = [*([asked.untraced] if asked.untraced else []), *asked.left_out]
    found = Explanation(
        schema=SCHEMA,
        version=__version__,
        created=now_utc(),
        verdict=verdict,
        headline="",
        answer=(),
        study=study.folder.resolve().name,
        target=plan.target,
        rate_per_s=plan.rate_per_s,
        by=asked.by,
        budget_s=asked.budget_s,
        spent_s=spent_s(study),
        host=_host(study),
        cannot=tuple(left_out),  # type: ignore[arg-type]
        parts=parts,
        culprits=culprits,
        own_code=split.own_code(parts),
        trials=tuple(trials),
        confirmation=confirmation,
        resolution=_resolution(study, asked, confirmation.ratios.get(asked.by) if confirmation else None),
        applied=tuple(asked.applied),
        undo=UNDO if asked.applied else None,
    )
    return _told(found, study)


def _told(found: Explanation, study: Study) -> Explanation:
    return msgspec.structs.replace(
        found,
        headline=headline(found),
        answer=five_sentences(found, _present_us(study, found.by), again(study)),
    )


def _present_us(study: Study, by: str) -> float | None:
    """The figure of the present state: the median of all its runs that were not traced, else of the look."""
    values = [
        value for stage in ("confirm", "try") for value in rounds_of(study, stage, by).get(0, {}).values()
    ]
    if not values and (look := _look(study)) is not None:
        values = [figures(look, run.number)[by] for run in look.runs()]
    return number(float(np.median(values))) if values else None


def _host(study: Study) -> str:
    """What the check of the host found, in a line."""
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


def _confirmation(study: Study, plan: MeasurePlan, asked: Asked) -> Confirmation | None:
    parts = parts_of(study, "confirm")
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
        if (ratio := compared(rounds)) is not None:
            ratios[name] = ratio
    candidates = asked.candidates or ()
    return Confirmation(
        labels=tuple(candidates[place - 1].label for place in asked.chosen or ()),
        pairs=len(pairs),
        confidence=course.CONFIDENCE,
        ratios=ratios,
        before=_side(parts[0], pairs, plan),
        after=_side(parts[1], pairs, plan),
        seconds=_stage_s(study, "confirm"),
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
    return Side(latency, rate, dict(pictures.curve(totals.whole["latency"])))  # type: ignore[arg-type]


def _trials(study: Study, asked: Asked, verdict: Verdict) -> list[Trial]:
    """What became of each candidate; ratios of the rounds that chose carry no claim."""
    rounds = rounds_of(study, "try", asked.by)
    active, _ = course.survivors(rounds, len(asked.candidates or ()))
    chosen = asked.chosen or ()
    outcomes: dict[Verdict, Outcome] = {"gain": "confirmed", "no-gain": "refuted", "undecided": "undecided"}
    found = []
    for place, one in enumerate(asked.candidates or (), 1):
        logs = course.log_ratios(rounds, place)
        ratio = compared({0: rounds[0], 1: rounds[place]}, 0.95) if logs else None
        if place in chosen:
            outcome: Outcome = outcomes[verdict] if len(chosen) == 1 else "in combination"
        elif logs and place not in active:
            outcome = "dropped"
        else:
            outcome = "undecided" if logs else "not tried"
        found.append(Trial(one, one.label, outcome, len(logs), ratio, _stage_s(study, "try", place)))
    return found


def _resolution(study: Study, asked: Asked, fresh: Ratio | None) -> Resolution:
    """What pairs scatter here, and what that lets the budget decide."""
    logs = [
        np.asarray(one)
        for stage in ("confirm", "try")
        for side, rounds in [
            (side, rounds_of(study, stage, asked.by)) for side in parts_of(study, stage) if side
        ]
        if len(one := course.log_ratios(rounds, side)) > 2
    ]
    run_s = typical_run_s(study)
    if sum(map(len, logs)) < LEAST_PAIRS:
        return Resolution(run_s, None, None, 2.0 * run_s * course.LOOKS[0] + _stage_s(study, "look"), None)
    # By the median distance from the median: one disturbed pair of ten must not decide what is said.
    scatter = 1.4826 * float(np.median(np.concatenate([np.abs(one - np.median(one)) for one in logs])))
    pairs = max(LEAST_PAIRS, len(logs[0]))
    before_s = spent_s(study) - _stage_s(study, "confirm")

    def budget(ratio: float) -> float:
        return before_s + 2.0 * run_s * course.pairs_to_decide(scatter, ratio)

    open_ = (
        fresh is not None and (fresh.high is None or fresh.high >= 1.0) and fresh.value < 1.0 / (1.0 + MARGIN)
    )
    seen = budget(fresh.value) if fresh is not None and open_ else None
    return Resolution(run_s, scatter, course.ratio_decided(scatter, pairs), budget(0.9), seen)
