"""One series of a verification: the runs of the original, of the clone, or of the original again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hindmost.documents import read_json
from hindmost.fleet import HERE, Fleet
from hindmost.models import Clone
from hindmost.notes import Note
from hindmost.plan import MeasurePlan
from hindmost.run.making import make_run
from hindmost.store import Study
from hindmost.store.predictions import Prediction
from hindmost.studies.sides import judged, unsound_rounds
from hindmost.studies.verification.draws import DRAWS, draw_ratios_of_log, stored
from hindmost.targets import Attached, Managed

AGAIN = 1_000_003
"""Added to the seed of the original that runs again: other requests of the same kind."""


class Series:
    """A `hindmost.studies.pairs.Side`.

    Parameters
    ----------
    study : Study
        Takes the runs; the number of a run is that of its pair.
    who : str
        ``original``, ``clone`` or ``again``.
    plan : MeasurePlan
        With the rate of its load.
    target : Attached or Managed
        The server.
    clone : Clone
        What the server behind ``clone`` runs.
    predicted : Prediction
        What the simulated clone does at this load. It stood before any run: late sending is compared with it.
    fleet : Fleet, optional
        Where the load clients run; default: this machine.
    """

    def __init__(
        self,
        study: Study,
        who: str,
        plan: MeasurePlan,
        target: Attached | Managed,
        clone: Clone,
        predicted: Prediction,
        fleet: Fleet = HERE,
    ) -> None:
        self.study = study
        self.who = who
        self.plan = plan
        self.target = target
        self.clone = clone
        self.predicted = predicted
        self.fleet = fleet

    def has(self, number: int) -> bool:
        """Whether the run of this pair is stored."""
        return self.study.run(number) is not None

    def make(self, number: int) -> None:
        """Make it, with draws of its own; of a clone, keep what its draws did."""
        seed = self.plan.run_seed(number) + (AGAIN if self.who == "again" else 0)
        target, log = seeded(self.target, seed), self.study.folder / "truth.csv"
        if self.who == "clone":
            target = with_log(target, log.absolute())
        with self.study.lock():
            make_run(self.study, number, self.plan, target, fleet=self.fleet)
        if self.who == "clone" and self.clone.threads == 1:
            found = self.by_draws() | {
                number: draw_ratios_of_log(self.clone, log, self._counted(number), seed)
            }
            self.study.write(DRAWS, json.dumps(found))
        log.unlink(missing_ok=True)

    def unsound(self, number: int) -> Note | None:
        """Why the run of this pair is excluded."""
        return unsound(self.study, number, self.predicted)

    def by_draws(self) -> dict[int, dict[str, float]]:
        """Of each pair, how much longer its draws made the latencies."""
        return stored(self.study.folder / DRAWS)

    def _counted(self, number: int) -> int:
        run = self.study.run(number)
        assert run is not None
        results = [read_json(file) for file in sorted(run.folder.glob("instance-*.json"))]
        return sum(one["counts"]["due"] for one in results)


def unsound(study: Study, number: int, predicted: Prediction) -> Note | None:
    """Why the run of a pair is excluded; None if it counts."""
    usual = {name: one["value"] for name, one in predicted["latency_us"].items()}
    found = judged(study, number, usual)
    return None if found.sound else found.note


def unsound_pairs(series: Mapping[str, Study], predicted: Prediction) -> dict[int, Note]:
    """Of the pairs that all series have, the excluded ones, and why."""
    numbers = set.intersection(*({run.number for run in study.runs()} for study in series.values()))
    return unsound_rounds(
        series.values(), sorted(numbers), lambda study, number: unsound(study, number, predicted)
    )


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
