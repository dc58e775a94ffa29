"""From the series of pairs to the answer: ``verification.json`` (`hindmost.store.verification`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hindmost import __version__
from hindmost.errors import StudyError
from hindmost.models.simulation import Design, run_points
from hindmost.plan import MeasurePlan
from hindmost.run.readings import plan_of
from hindmost.stats.runs.equivalence import CONFIDENCE
from hindmost.store import Study, now_utc
from hindmost.store.estimates import encode
from hindmost.store.predictions import Prediction
from hindmost.store.verification import PredictedPoint, VerifiedPoint
from hindmost.store.verification import Verification as Document
from hindmost.studies.measure.answer import answer as measured
from hindmost.studies.verification.asked import Asked
from hindmost.studies.verification.comparison import MARGINS, WHO, Point, compared, sound_pairs, verdict_of
from hindmost.studies.verification.costs import cost_ratios
from hindmost.studies.verification.draws import DRAWS, stored
from hindmost.studies.verification.series import unsound_pairs

FILE = "verification.json"
CURVE = tuple(step / 20 for step in range(1, 19))
SIMULATED = 400_000
"""Requests of each simulated point: their intervals are then far narrower than those of the runs."""


def answer(study: Study) -> Document:
    """Everything that a study's pairs say of a clone, as far as it came.

    Raises
    ------
    StudyError
        If no pair is finished at any load.
    """
    asked = Asked.of(study)
    begun = [point for point in asked.points if _has_a_pair(study, point)]
    if not begun:
        raise StudyError(
            "no-finished-runs",
            f"{study.folder} holds no finished pair of runs",
            hint=f"hindmost compare {study.folder}",
            path=str(study.folder),
        )
    predicted = predictions(asked, plan_of(study))
    return document_of(study, asked, predicted, [verified(study, asked, one, predicted) for one in begun])


def predictions(asked: Asked, plan: MeasurePlan) -> dict[float, Prediction]:
    """What the simulated clone does, by load: a curve, and the loads of the pairs."""
    loads = sorted({*CURVE, *(point.load for point in asked.points)})
    design = Design(requests=SIMULATED, seed=plan.seed, quantiles=plan.quantiles)
    points = [{"load": {"rate_per_s": asked.clone.rate_at(load)}} for load in loads]
    outcomes = run_points(asked.clone, points, design)
    return {load: outcome.prediction for load, outcome in zip(loads, outcomes, strict=True)}


def verified(
    study: Study, asked: Asked, point: Point, predicted: Mapping[float, Prediction]
) -> VerifiedPoint:
    """What the pairs at one load say; each series gets its own ``result.json``."""
    results, parts = {}, {}
    for who in WHO:
        parts[who] = Study.open(study.folder / point.folder / who)
        results[who] = measured(parts[who])
        parts[who].write("result.json", encode(results[who]))
    unsound = unsound_pairs(parts, predicted[point.load])
    by_cost = None
    if asked.logged is not None:
        by_cost = cost_ratios(asked.clone, point.rate_per_s, *sound_pairs(results, unsound), asked.logged)
    by_draws = stored(parts["clone"].folder / DRAWS)
    return compared(point, results, predicted[point.load], unsound, by_draws, by_cost)


def document_of(
    study: Study, asked: Asked, predicted: Mapping[float, Prediction], points: Sequence[VerifiedPoint]
) -> Document:
    """The document ``hindmost.verification/1``."""
    plan = plan_of(study)
    original = Study.open(study.folder / asked.points[0].folder / "original")
    curve: list[PredictedPoint] = [
        {
            "load": load,
            "rate_per_s": one["rate_per_s"] or 0.0,
            "latency_us": {name: one["latency_us"][name] for name in MARGINS},
        }
        for load, one in predicted.items()
    ]
    return {
        "schema": "hindmost.verification/1",
        "version": __version__,
        "created": now_utc(),
        "study": study.folder.resolve().name,
        "original": plan_of(original).target,
        "clone": asked.clone.name,
        "threads": asked.clone.threads,
        "capacity_per_s": asked.clone.capacity_per_s or 0.0,
        "duration_s": plan.duration_s,
        "confidence": CONFIDENCE,
        "margins": MARGINS,
        "verdict": verdict_of(points),
        "points": list(points),
        "curve": curve,
    }


def _has_a_pair(study: Study, point: Point) -> bool:
    series = [{run.name for run in study.folder.glob(f"{point.folder}/{who}/runs/[0-9]*")} for who in WHO]
    return bool(set.intersection(*series))
