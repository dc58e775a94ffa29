"""The answer about a clone: the document ``hindmost.verification/1``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hindmost import __version__
from hindmost.commands.clone.documents.predictions import Prediction
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.commands.compare.clone.costs import cost_ratios
from hindmost.commands.compare.clone.draws import DRAWS, read_draw_ratios
from hindmost.commands.compare.clone.ratios import (
    MARGINS,
    SERIES,
    LoadPoint,
    compare_series,
    counted_pairs,
    decide,
)
from hindmost.commands.compare.clone.request import CloneRequest
from hindmost.commands.compare.clone.series import excluded_pairs
from hindmost.commands.compare.documents.clone import PredictedPoint, Verification, VerifiedPoint
from hindmost.commands.compare.rounds import no_complete_round
from hindmost.commands.measure.answer import answer as answer_measurement
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.readings import plan_of
from hindmost.core.store import Study, now_utc
from hindmost.core.store.estimates import encode
from hindmost.stats.runs.equivalence import CONFIDENCE

FILE = "verification.json"
CURVE = tuple(step / 20 for step in range(1, 19))
"""Loads of the simulated curve."""
SIMULATED = 400_000
"""Requests of each simulated point: its interval is then far narrower than the runs' intervals."""


def answer(study: Study) -> Verification:
    """Answer from the complete pairs in the study's folder.

    Raises
    ------
    StudyError
        If no pair is complete at any load.
    """
    request = CloneRequest.read(study)
    begun = [point for point in request.points if _has_pair(study, point)]
    if not begun:
        raise no_complete_round(study)
    predicted = predict(request, plan_of(study))
    points = [describe_load(study, request, point, predicted) for point in begun]
    return document_of(study, request, predicted, points)


def predict(request: CloneRequest, plan: MeasurePlan) -> dict[float, Prediction]:
    """Simulate the clone by load: along a curve, and at the loads of the pairs."""
    loads = sorted({*CURVE, *(point.load for point in request.points)})
    design = Design(requests=SIMULATED, seed=plan.seed, quantiles=plan.quantiles)
    points = [{"load": {"rate_per_s": request.clone.rate_at(load)}} for load in loads]
    outcomes = run_points(request.clone, points, design)
    return {load: outcome.prediction for load, outcome in zip(loads, outcomes, strict=True)}


def describe_load(
    study: Study, request: CloneRequest, point: LoadPoint, predicted: Mapping[float, Prediction]
) -> VerifiedPoint:
    """Compare the series at one load; write ``result.json`` into each."""
    results, parts = {}, {}
    for name in SERIES:
        parts[name] = Study.open(study.folder / point.folder / name)
        results[name] = answer_measurement(parts[name])
        parts[name].write("result.json", encode(results[name]))
    excluded = excluded_pairs(parts, predicted[point.load])
    costs = None
    if request.logged is not None:
        runs, counted = counted_pairs(results, excluded)
        costs = cost_ratios(request.clone, point.rate_per_s, runs, counted, request.logged)
    draws = read_draw_ratios(parts["clone"].folder / DRAWS)
    return compare_series(point, results, predicted[point.load], excluded, draws, costs)


def document_of(
    study: Study,
    request: CloneRequest,
    predicted: Mapping[float, Prediction],
    points: Sequence[VerifiedPoint],
) -> Verification:
    """Return the document ``hindmost.verification/1``."""
    plan = plan_of(study)
    original = Study.open(study.folder / request.points[0].folder / "original")
    return Verification(
        schema="hindmost.verification/1",
        version=__version__,
        created=now_utc(),
        study=study.folder.resolve().name,
        original=plan_of(original).target,
        clone=request.clone.name,
        threads=request.clone.threads,
        capacity_per_s=request.clone.capacity_per_s or 0.0,
        duration_s=plan.duration_s,
        confidence=CONFIDENCE,
        margins=MARGINS,
        verdict=decide(points),
        points=list(points),
        curve=[
            PredictedPoint(
                load=load,
                rate_per_s=one.rate_per_s or 0.0,
                latency_us={name: one.latency_us[name] for name in MARGINS},
            )
            for load, one in predicted.items()
        ],
    )


def _has_pair(study: Study, point: LoadPoint) -> bool:
    series = [
        {run.name for run in study.folder.glob(f"{point.folder}/{name}/runs/[0-9]*")} for name in SERIES
    ]
    return bool(set.intersection(*series))
