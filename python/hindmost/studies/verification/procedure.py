"""A clone against its original: paired runs at several loads, and the original against itself.

::

    pair 1 of a load:   original   clone      original again     (each with a fresh server, same arrivals;
    pair 2:             clone      original   original again      the order is drawn anew for each pair)

The ratio of clone to original (the geometric mean of its two runs) is judged as an equivalence
(`hindmost.stats.runs.equivalence`), with the margins of the goal; the ratio of the original to itself is the
noise floor. A clone draws other service times than its original, so does the original that runs again, and
so does each pair: with the same ones in every run, ratios would scatter less than the claim deserves. What
a run of the clone owes to its own draws is known, and taken off (`draws`). What pairs owe to the CPU time
that requests happened to cost is known, too, and taken off in a second ratio (`costs`). A pair in which
others had the client's processor is made again. Each series is a whole study of its own under
``STUDY/LOAD/WHO``, so that a verification that was interrupted goes on where it stopped, and any of them
can be reported on by itself.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hindmost import __version__
from hindmost.models import Clone
from hindmost.models.simulation import Design, run_points
from hindmost.plan import MeasurePlan
from hindmost.run.making import make_run
from hindmost.stats.runs.equivalence import CONFIDENCE
from hindmost.store import Study, now_utc
from hindmost.store.predictions import Prediction
from hindmost.store.verification import PredictedPoint, VerifiedPoint
from hindmost.store.verification import Verification as Document
from hindmost.studies.measure.answer import answer
from hindmost.studies.measure.procedure import Observer
from hindmost.studies.part import open_part
from hindmost.studies.verification.comparison import (
    LOST,
    MARGINS,
    Point,
    compared,
    lost,
    sound_pairs,
    verdict_of,
)
from hindmost.studies.verification.costs import lateness
from hindmost.studies.verification.draws import LUCK, luck_of_log, stored
from hindmost.studies.verification.logged import Logged
from hindmost.targets import Attached, Managed

FILE = "verification.json"
AGAIN_AT_MOST = 2
"""Times as many pairs as asked for are made at most, so that as many count."""
WHO = ("original", "clone", "again")
AGAIN = 1_000_003
"""Added to the seed of the original that runs again: other requests of the same kind."""

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
        self.targets = {**targets, "again": targets["original"]}
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
            calm = 0
            for pair in range(1, AGAIN_AT_MOST * self.pairs + 1):
                order = list(WHO)
                random.Random(f"{self.plan.seed} {point.folder} {pair}").shuffle(order)
                for who in order:
                    self._until(series[who], who, plan, pair)
                calm += all(lost(_instances(one, pair)) <= LOST for one in series.values())
                if calm == self.pairs:
                    break
            found.append(self._compare(point, series, predicted[point.load]))
            self.told(found[-1])
        document = self._document(found, predicted)
        self.study.write(FILE, json.dumps(document, allow_nan=False))
        return document

    def _predict(self, loads: Sequence[float]) -> list[Prediction]:
        design = Design(requests=SIMULATED, seed=self.plan.seed, quantiles=self.plan.quantiles)
        points = [{"load": {"rate_per_s": self.clone.rate_at(load)}} for load in loads]
        return [outcome.prediction for outcome in run_points(self.clone, points, design)]

    def _series(self, point: Point, who: str, plan: MeasurePlan) -> Study:
        named = plan.model_copy(update={"target": self.targets[who].name})
        return open_part(self.study, self.study.folder / point.folder / who, named)

    def _until(self, series: Study, who: str, plan: MeasurePlan, pair: int) -> None:
        if any(run.number == pair for run in series.runs()):
            return
        seed = self.plan.run_seed(pair) + (AGAIN if who == "again" else 0)
        target, log = seeded(self.targets[who], seed), series.folder / "truth.csv"
        if who == "clone":
            target = with_log(target, log.absolute())
        with series.lock():
            make_run(series, pair, plan, target, look=self.observer(plan, who).moment)
        if who == "clone" and self.clone.threads == 1:
            counted = sum(one["counts"]["due"] for one in _instances(series, pair))
            found = stored(series.folder / LUCK) | {pair: luck_of_log(self.clone, log, counted, seed)}
            series.write(LUCK, json.dumps(found))
        log.unlink(missing_ok=True)

    def _compare(self, point: Point, series: Mapping[str, Study], predicted: Prediction) -> VerifiedPoint:
        results = {}
        for who, study in series.items():
            results[who] = answer(study)
            study.write("result.json", json.dumps(results[who], allow_nan=False))
        late = None
        if self.logged is not None:
            late = lateness(self.clone, point.rate_per_s, *sound_pairs(results), self.logged)
        return compared(point, results, predicted, stored(series["clone"].folder / LUCK), late)

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


def seeded(target: Attached | Managed, seed: int) -> Attached | Managed:
    """The same server with other requests or service times, if it takes a seed."""
    if not isinstance(target, Managed) or "seed" not in target.spec.options:
        return target
    return replace(target, spec=target.spec.with_options({"seed": seed}))


def with_log(target: Attached | Managed, log: Path) -> Attached | Managed:
    """The same server, which writes the truth about each request, if it can."""
    if not isinstance(target, Managed) or "log" not in target.spec.options:
        return target
    return replace(target, spec=target.spec.with_options({"log": str(log)}))


def _instances(series: Study, pair: int) -> list[dict[str, Any]]:
    """What the load instances of a run said."""
    folder = next(run.folder for run in series.runs() if run.number == pair)
    return [json.loads(file.read_text()) for file in sorted(folder.glob("instance-*.json"))]
