"""A clone against its original: paired runs at several loads, and the original against itself.

::

    pair 1 of a load:   original   clone      original again     (each with a fresh server, same arrivals;
    pair 2:             clone      original   original again      the order is drawn anew for each pair)

The ratio of clone to original is judged as an equivalence (`hindmost.stats.equivalence`), with the margins
of the goal; the ratio of the original to itself is the noise floor: no clone can be shown to be closer than
that. Each series is a whole study of its own under ``STUDY/LOAD/WHO``, so that a verification that was
interrupted goes on where it stopped, and any of them can be reported on by itself.
"""

from __future__ import annotations

import json
import math
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.experiment.answer import answer
from hindmost.experiment.procedure import Procedure, Watcher
from hindmost.plan import MeasurePlan
from hindmost.stats import Decision, Equivalence, equivalence
from hindmost.store import Study, now_utc
from hindmost.targets import Attached, Managed

SCHEMA = "hindmost.verification/1"
FILE = "verification.json"
MARGINS = {"mean": 0.05, "p95": 0.05, "p99": 0.08}
"""What counts as alike. TailWAG's errors over eight programs: 6.2, 1.9, 7.3 % (read as mean, p95, p99)."""
WHO = ("original", "clone", "again")


@dataclass(frozen=True, slots=True)
class Point:
    """One load: its share of the capacity, and the rate that this is."""

    load: float
    rate_per_s: float

    @property
    def folder(self) -> str:
        """Where its studies lie."""
        return f"{self.load:.4g}"


@dataclass(frozen=True, slots=True)
class Compared:
    """What was found at one load: by figure, clone against original, and original against itself.

    ``left_out``: pairs in which the instrument distorted a run.
    """

    point: Point
    clone: Mapping[str, Equivalence | None]
    floor: Mapping[str, Equivalence | None]
    values_us: Mapping[str, Mapping[str, float | None]]
    left_out: int


class Verification:
    """Compares a clone with its original.

    Parameters
    ----------
    study : Study
        An open, locked study; takes the series and the answer.
    plan : MeasurePlan
        Everything but the rate.
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
        targets: Mapping[str, Attached | Managed],
        points: Sequence[Point],
        pairs: int,
        watcher: Callable[[MeasurePlan, str], Watcher],
        told: Callable[[Compared], None] = lambda _: None,
    ) -> None:
        self.study = study
        self.plan = plan.model_copy(update={"runs": (pairs, pairs)})
        self.targets = {**targets, "again": targets["original"]}
        self.points = points
        self.pairs = pairs
        self.watcher = watcher
        self.told = told

    def run(self) -> dict[str, Any]:
        """Make all runs that are not there yet; returns the document ``hindmost.verification/1``.

        Raises
        ------
        TargetError, InstanceError
            If a server cannot be started or reached, or dies.
        StudyError
            If a run cannot be stored.
        """
        found = []
        for point in self.points:
            plan = self.plan.model_copy(update={"rate_per_s": point.rate_per_s})
            series = {who: self._series(point, who, plan) for who in WHO}
            for pair in range(1, self.pairs + 1):
                order = list(WHO)
                random.Random(f"{self.plan.seed} {point.folder} {pair}").shuffle(order)
                for who in order:
                    self._until(series[who], who, plan, pair)
            found.append(self._compare(point, series))
            self.told(found[-1])
        document = self._document(found)
        self.study.write(FILE, json.dumps(document, allow_nan=False))
        return document

    def _series(self, point: Point, who: str, plan: MeasurePlan) -> Study:
        folder = self.study.folder / point.folder / who
        manifest = {key: value for key, value in self.study.manifest.items() if key != "verification"}
        target = self.targets[who]
        manifest["plan"] = plan.model_copy(update={"target": target.name}).model_dump(mode="json")
        if not (folder / "manifest.json").exists():
            shutil.rmtree(folder, ignore_errors=True)  # killed before its manifest stood: nothing is in it
            return Study.create(folder, manifest)
        return Study.open(folder)

    def _until(self, series: Study, who: str, plan: MeasurePlan, pair: int) -> None:
        with series.lock():
            watcher = self.watcher(plan, who)
            Procedure(series, plan, self.targets[who], watcher, _Runs(pair)).run()

    def _compare(self, point: Point, series: Mapping[str, Study]) -> Compared:
        results = {}
        for who, study in series.items():
            results[who] = answer(study)
            study.write("result.json", json.dumps(results[who], allow_nan=False))
        runs = {who: {run["run"]: run for run in result["runs"]} for who, result in results.items()}
        pairs = sorted(set.intersection(*(set(of) for of in runs.values())))
        sound = [n for n in pairs if not any(of[n]["verdict"] == "invalid" for of in runs.values())]

        def column(who: str, name: str) -> list[float]:
            values = (runs[who][n]["latency_us"][name] for n in sound)
            return [math.inf if value is None else value for value in values]

        def ratio(ours: str, theirs: str, name: str) -> Equivalence | None:
            a, b = column(ours, name), column(theirs, name)
            if not a or not all(map(math.isfinite, a + b)):
                return None
            return equivalence(a, b, MARGINS[name])

        return Compared(
            point,
            {name: ratio("clone", "original", name) for name in MARGINS},
            {name: ratio("again", "original", name) for name in MARGINS},
            {
                who: {name: results[who]["latency_us"][name]["value"] for name in MARGINS}
                for who in ("original", "clone")
            },
            len(pairs) - len(sound),
        )

    def _document(self, found: Sequence[Compared]) -> dict[str, Any]:
        everything = [one.clone[name] for one in found for name in MARGINS]
        return {
            "schema": SCHEMA,
            "created": now_utc(),
            "original": self.targets["original"].name,
            "clone": self.targets["clone"].name,
            "margins": MARGINS,
            "verdict": _verdict(everything),
            "points": [
                {
                    "load": one.point.load,
                    "rate_per_s": one.point.rate_per_s,
                    "left_out": one.left_out,
                    "clone": {name: _written(value) for name, value in one.clone.items()},
                    "floor": {name: _written(value) for name, value in one.floor.items()},
                    "values_us": one.values_us,
                }
                for one in found
            ],
        }


class _Runs:
    """A rule that makes a fixed number of runs."""

    def __init__(self, runs: int) -> None:
        self.runs = runs

    def decide(self, values: Mapping[str, Sequence[float]]) -> Decision:
        made = len(next(iter(values.values())))
        stop = made >= self.runs
        reason = f"{made} of {self.runs} runs"
        return Decision(stop, stop, reason, None if stop else self.runs, made, "p99", math.inf)


def _verdict(found: Sequence[Equivalence | None]) -> str:
    if any(one is not None and one.outcome == "different" for one in found):
        return "different"
    return "equivalent" if all(one is not None and one.outcome == "equivalent" for one in found) else "open"


def _written(one: Equivalence | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "ratio": one.ratio,
        "low": None if math.isnan(one.low) else one.low,
        "high": None if math.isnan(one.high) else one.high,
        "margin": one.margin,
        "pairs": one.pairs,
        "outcome": one.outcome,
    }
