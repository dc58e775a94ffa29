"""A clone against its original: paired runs at several loads, and the original against itself.

::

    pair 1 of a load:   original   clone      original again     (each with a fresh server, same arrivals;
    pair 2:             clone      original   original again      the order is drawn anew for each pair)

The ratio of clone to original (the geometric mean of its two runs) is judged as an equivalence
(`hindmost.stats.equivalence`), with the margins of the goal; the ratio of the original to itself is the noise
floor. A clone draws other service times than its original, so does the original that runs again, and so does
each pair: with the same ones in every run, ratios would scatter less than the claim deserves. What a run of
the clone owes to its own draws is known, and taken off (`hindmost.experiment.draws`). A pair in which others
had the client's processor is made again. Each series is a whole study of its own under ``STUDY/LOAD/WHO``, so
that a verification that was interrupted goes on where it stopped, and any of them can be reported on by
itself.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hindmost import __version__
from hindmost.experiment.answer import answer
from hindmost.experiment.draws import luck_of_log, stored
from hindmost.experiment.part import open_part
from hindmost.experiment.procedure import Procedure, Watcher
from hindmost.models import Clone
from hindmost.models.simulation import Design, run_points
from hindmost.plan import MeasurePlan
from hindmost.stats import Equivalence, equivalence, mean_interval
from hindmost.stats.equivalence import CONFIDENCE
from hindmost.store import Study, now_utc
from hindmost.store.predictions import Prediction
from hindmost.store.verification import (
    Figure,
    Outcome,
    PredictedPoint,
    Ratio,
    Value,
    VerifiedPoint,
)
from hindmost.store.verification import (
    Verification as Document,
)
from hindmost.targets import Attached, Managed

FILE = "verification.json"
LUCK = "draws.json"
LOST = 0.001
"""Share of the time that others had the client's processor, above which a pair does not count: whoever had it
had the server's at other times. Calm runs here lose 0.005 to 0.07 %; one that lost 0.44 % was 1.6 times as
late in the mean. A matter of the host alone, so that leaving it out favours neither server."""
AGAIN_AT_MOST = 2
"""Times as many pairs as asked for are made at most, so that as many count."""
MARGINS = {"mean": 0.05, "p95": 0.05, "p99": 0.08}
"""What counts as alike. TailWAG's errors over eight programs: 6.2, 1.9, 7.3 % (read as mean, p95, p99)."""
LEAST_PAIRS = 4
"""Below, nothing is decided: two or three pairs that the host disturbed may agree by chance, and Student's
interval is narrow, and at a wrong place."""
WHO = ("original", "clone", "again")
AGAIN = 1_000_003
"""Added to the seed of the original that runs again: other requests of the same kind."""

CURVE = tuple(step / 20 for step in range(1, 19))
SIMULATED = 400_000
"""Requests of each simulated point: their intervals are then far narrower than those of the runs."""


@dataclass(frozen=True, slots=True)
class Point:
    """One load: its share of the capacity, and the rate that this is."""

    load: float
    rate_per_s: float

    @property
    def folder(self) -> str:
        """Where its studies lie."""
        return f"{self.load:.4g}"


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
    watcher : callable
        Makes the watcher of a series from its plan.
    told : callable, optional
        Told of each load when its pairs are done.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        clone: Clone,
        targets: Mapping[str, Attached | Managed],
        points: Sequence[Point],
        pairs: int,
        watcher: Callable[[MeasurePlan, str], Watcher],
        told: Callable[[VerifiedPoint], None] = lambda _: None,
    ) -> None:
        self.study = study
        self.plan = plan.model_copy(update={"runs": (pairs, pairs)})
        self.clone = clone
        self.targets = {**targets, "again": targets["original"]}
        self.points = points
        self.pairs = pairs
        self.watcher = watcher
        self.told = told

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
                calm += all(_lost(_instances(one, pair)) <= LOST for one in series.values())
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
            target = logged(target, log.absolute())
        with series.lock():
            Procedure(series, plan, target, self.watcher(plan, who)).one(pair)
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
        return compared(point, results, predicted, stored(series["clone"].folder / LUCK))

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


def logged(target: Attached | Managed, log: Path) -> Attached | Managed:
    """The same server, which writes the truth about each request, if it can."""
    if not isinstance(target, Managed) or "log" not in target.spec.options:
        return target
    return replace(target, spec=target.spec.with_options({"log": str(log)}))


def compared(
    point: Point,
    results: Mapping[str, Mapping[str, Any]],
    predicted: Prediction,
    luck: Mapping[int, Mapping[str, float]] | None = None,
) -> VerifiedPoint:
    """Compare the answers (``hindmost.measure/1``) of the three series at one load.

    Pairs in which a run was invalid are left out, and those in which others had the client's processor for
    more than `LOST`. What a run of the clone owes to its draws is taken off where `luck` knows it.
    """
    runs = {who: {run["run"]: run for run in result["runs"]} for who, result in results.items()}
    pairs = sorted(set.intersection(*(set(of) for of in runs.values())))
    sound = [n for n in pairs if not any(_spoiled(of[n]) for of in runs.values())]
    fate = luck or {}

    def column(who: str, name: str) -> list[float]:
        values = (runs[who][n]["latency_us"][name] for n in sound)
        return [math.inf if value is None else value for value in values]

    def ratio(ours: str, name: str) -> Ratio | None:
        a, b = column(ours, name), column("original", name)
        if ours == "clone":
            a = [us / fate.get(n, {}).get(name, 1.0) for us, n in zip(a, sound, strict=True)]
            b = [math.sqrt(one * other) for one, other in zip(b, column("again", name), strict=True)]
        if not a or not all(map(math.isfinite, a + b)):
            return None
        return _written(equivalence(a, b, MARGINS[name]))

    def value(who: str, name: str) -> Value:
        values = column(who, name)
        if not values or not all(map(math.isfinite, values)):
            return {"value": None, "low": None, "high": None}
        one = mean_interval(values)
        return {
            "value": one.value,
            "low": one.low if one.known else None,
            "high": one.high if one.known else None,
        }

    figures: dict[str, Figure] = {
        name: {
            "original_us": value("original", name),
            "clone_us": value("clone", name),
            "predicted_us": predicted["latency_us"][name],
            "clone": ratio("clone", name),
            "floor": ratio("again", name),
        }
        for name in MARGINS
    }
    return {
        "load": point.load,
        "rate_per_s": point.rate_per_s,
        "requests": sum(runs["original"][n]["counts"]["due"] for n in sound),
        "pairs": len(sound),
        "left_out": len(pairs) - len(sound),
        "why": _why(runs, [n for n in pairs if n not in sound]),
        "figures": figures,
    }


def _spoiled(run: Mapping[str, Any]) -> bool:
    return run["verdict"] == "invalid" or _lost(run.get("instances", ())) > LOST


def _lost(instances: Iterable[Mapping[str, Any]]) -> float:
    """Share of the time that others had a client's processor, at worst; of results or accounts."""
    threads = [thread for one in instances for thread in one.get("threads", [one])]
    return max((thread["run_delay_share"] or 0.0 for thread in threads), default=0.0)


def _instances(series: Study, pair: int) -> list[dict[str, Any]]:
    """What the load instances of a run said."""
    folder = next(run.folder for run in series.runs() if run.number == pair)
    return [json.loads(file.read_text()) for file in sorted(folder.glob("instance-*.json"))]


def _why(runs: Mapping[str, Mapping[int, Any]], left_out: Sequence[int]) -> str | None:
    """What most often made a pair unusable, in the words of one run; None where all are sound."""
    found = [
        reason
        for n in left_out
        for of in runs.values()
        for reason in of[n]["reasons"]
        if reason["level"] == "invalid"
    ]
    if not found:
        most = max((_lost(of[n].get("instances", ())) for n in left_out for of in runs.values()), default=0.0)
        return f"others had the client's processor for {most:.2%} of the time" if most > LOST else None
    often = Counter(reason["code"] for reason in found).most_common(1)[0][0]
    return str(next(reason["text"] for reason in found if reason["code"] == often))


def verdict_of(points: Sequence[VerifiedPoint]) -> Outcome:
    """Different where any figure is; equivalent where all are."""
    outcomes = [
        "open" if figure["clone"] is None else figure["clone"]["outcome"]
        for point in points
        for figure in point["figures"].values()
    ]
    if "different" in outcomes:
        return "different"
    return "equivalent" if outcomes and all(one == "equivalent" for one in outcomes) else "open"


def _written(one: Equivalence) -> Ratio:
    return {
        "ratio": one.ratio,
        "low": None if math.isnan(one.low) else one.low,
        "high": None if math.isnan(one.high) else one.high,
        "margin": one.margin,
        "pairs": one.pairs,
        "outcome": one.outcome if one.pairs >= LEAST_PAIRS else "open",
    }
