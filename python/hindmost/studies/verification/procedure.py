"""A clone against its original: paired runs at several loads, and the original against itself.

::

    pair 1 of a load:   original   clone      original again     (each with a fresh server, same arrivals;
    pair 2:             clone      original   original again      the order is drawn anew for each pair)

The ratio of clone to original (the geometric mean of its two runs) is judged as an equivalence
(`hindmost.stats.runs.equivalence`), with the margins of the goal; the ratio of the original to itself is the
noise floor. A clone draws other service times than its original, so does the original that runs again, and
so does each pair: with the same ones in every run, ratios would scatter less than the claim deserves. Two
control variates make them scatter less: what the draws of the clone's run do to its latency (`draws`), and,
in a ratio of its own, what the CPU time that requests happened to cost does to the original's (`costs`). A
pair with a run that is not sound is made again (`studies.pairs`). Each series is a whole study of its own
under ``STUDY/LOAD/WHO``, so that a verification that was interrupted goes on where it stopped, and any of
them can be reported on by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from hindmost import __version__
from hindmost.models import Clone
from hindmost.models.simulation import Design, run_points
from hindmost.plan import MeasurePlan
from hindmost.run.soundness import Remaking
from hindmost.stats.runs.equivalence import CONFIDENCE
from hindmost.store import Study, now_utc
from hindmost.store.predictions import Prediction
from hindmost.store.verification import PredictedPoint, VerifiedPoint
from hindmost.store.verification import Verification as Document
from hindmost.studies.measure.answer import answer
from hindmost.studies.measure.procedure import Observer
from hindmost.studies.pairs import interleave
from hindmost.studies.part import open_part
from hindmost.studies.verification.comparison import (
    MARGINS,
    WHO,
    Point,
    compared,
    sound_pairs,
    verdict_of,
)
from hindmost.studies.verification.costs import cost_ratios
from hindmost.studies.verification.logged import Logged
from hindmost.studies.verification.series import Series, unsound_pairs
from hindmost.targets import Attached, Managed

FILE = "verification.json"
CURVE = tuple(step / 20 for step in range(1, 19))
SIMULATED = 400_000
"""Requests of each simulated point: their intervals are then far narrower than those of the runs."""


class Verification:
    """Compares a clone with its original.

    Parameters
    ----------
    study : Study
        An open, locked study; takes the series and the answer.
    plan : MeasurePlan
        Everything but the rate.
    clone : Clone
        What the server behind ``clone`` runs.
    targets : mapping
        The server behind ``original`` and behind ``clone``.
    points : sequence of Point
        Loads.
    pairs : int
        Pairs at each load.
    observer : callable
        Makes the observer of a series from its plan.
    told : callable, optional
        Told of each load when its pairs are done.
    logged : Logged, optional
        What a request of the original cost when the logs were made that the clone is fitted to.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        clone: Clone,
        targets: Mapping[str, Attached | Managed],
        points: Sequence[Point],
        pairs: int,
        observer: Callable[[MeasurePlan, str], Observer],
        told: Callable[[VerifiedPoint], None] = lambda _: None,
        logged: Logged | None = None,
    ) -> None:
        self.study = study
        self.plan = plan.model_copy(update={"runs": (pairs, pairs)})
        self.clone = clone
        self.targets: Mapping[str, Attached | Managed] = {**targets, "again": targets["original"]}
        self.points = points
        self.pairs = pairs
        self.observer = observer
        self.told = told
        self.logged = logged

    def run(self) -> Document:
        """Make all runs that are not there yet; write and return the document ``hindmost.verification/1``.

        Raises
        ------
        TargetError, InstanceError
            If a server cannot be started or reached, or dies.
        StudyError
            If a run cannot be stored.
        """
        loads = sorted({*CURVE, *(point.load for point in self.points)})
        predicted = dict(zip(loads, self._predict(loads), strict=True))
        found = []
        for point in self.points:
            plan = self.plan.model_copy(update={"rate_per_s": point.rate_per_s})
            series = {who: self._series(point, who, plan) for who in WHO}
            interleave(series, f"{self.plan.seed} {point.folder}", Remaking(self.pairs))
            found.append(self._compare(point, series, predicted[point.load]))
            self.told(found[-1])
        document = self._document(found, predicted)
        self.study.write(FILE, json.dumps(document, allow_nan=False))
        return document

    def _predict(self, loads: Sequence[float]) -> list[Prediction]:
        design = Design(requests=SIMULATED, seed=self.plan.seed, quantiles=self.plan.quantiles)
        points = [{"load": {"rate_per_s": self.clone.rate_at(load)}} for load in loads]
        return [outcome.prediction for outcome in run_points(self.clone, points, design)]

    def _series(self, point: Point, who: str, plan: MeasurePlan) -> Series:
        named = plan.model_copy(update={"target": self.targets[who].name})
        study = open_part(self.study, self.study.folder / point.folder / who, named)
        return Series(study, who, plan, self.targets[who], self.clone, self.observer(plan, who))

    def _compare(self, point: Point, series: Mapping[str, Series], predicted: Prediction) -> VerifiedPoint:
        results = {}
        for who, one in series.items():
            results[who] = answer(one.study)
            one.study.write("result.json", json.dumps(results[who], allow_nan=False))
        unsound = unsound_pairs({who: one.study for who, one in series.items()})
        by_cost = None
        if self.logged is not None:
            by_cost = cost_ratios(self.clone, point.rate_per_s, *sound_pairs(results, unsound), self.logged)
        return compared(point, results, predicted, unsound, series["clone"].by_draws(), by_cost)

    def _document(self, found: list[VerifiedPoint], predicted: Mapping[float, Prediction]) -> Document:
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
            "study": self.study.folder.resolve().name,
            "original": self.targets["original"].name,
            "clone": self.clone.name,
            "threads": self.clone.threads,
            "capacity_per_s": self.clone.capacity_per_s or 0.0,
            "duration_s": self.plan.duration_s,
            "confidence": CONFIDENCE,
            "margins": MARGINS,
            "verdict": verdict_of(found),
            "points": found,
            "curve": curve,
        }
