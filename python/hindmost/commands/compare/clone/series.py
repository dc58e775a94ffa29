"""The three series of a clone comparison: the original, the clone, and the original again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.documents.predictions import Prediction
from hindmost.commands.compare.arms import Arm
from hindmost.commands.compare.clone.draws import DRAWS, ratios_from_log, read_draw_ratios
from hindmost.commands.compare.rounds import complete_rounds, judge_run
from hindmost.core.documents import read_json
from hindmost.core.fleet import HERE, Fleet
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.making import make_run
from hindmost.core.store import Study
from hindmost.core.targets import Attached, Managed

AGAIN = 1_000_003
"""Added to the seed of the original's second run, which then sends other requests of the same kind."""


class Series(Arm):
    """One series, an arm whose runs have their own draws.

    Parameters
    ----------
    study : Study
        Stores the runs. The number of a run is the number of its pair.
    name : str
        ``original``, ``clone`` or ``again``.
    plan : MeasurePlan
        Plan of each run, with the rate of its load.
    target : Attached or Managed
        The server.
    clone : Clone
        The clone that is served in the series ``clone``.
    predicted : Prediction
        The simulated clone at this load. It is known before any run, so send delays are compared with it.
    fleet : Fleet, optional
        Where the clients run; default: this machine.
    """

    def __init__(
        self,
        study: Study,
        name: str,
        plan: MeasurePlan,
        target: Attached | Managed,
        clone: Clone,
        predicted: Prediction,
        fleet: Fleet = HERE,
    ) -> None:
        super().__init__(study, plan, target, fleet)
        self.name = name
        self.clone = clone
        self.predicted = predicted

    def make(self, number: int) -> None:
        """Make the run of this pair with its own seed; for the clone, store the effect of its draws."""
        seed = self.plan.run_seed(number) + (AGAIN if self.name == "again" else 0)
        target, log = with_seed(self.target, seed), self.study.folder / "truth.csv"
        if self.name == "clone":
            target = with_log(target, log.absolute())
        with self.study.lock():
            make_run(self.study, number, self.plan, target, fleet=self.fleet)
        if self.name == "clone" and self.clone.threads == 1:
            ratios = read_draw_ratios(self.study.folder / DRAWS)
            ratios[number] = ratios_from_log(self.clone, log, self._count_requests(number), seed)
            self.study.write(DRAWS, json.dumps(ratios))
        log.unlink(missing_ok=True)
        self.made.add(number)

    def excluded(self, number: int) -> Note | None:
        """Return why the run of this pair is excluded; None if it counts."""
        return why_excluded(self.study, number, self.predicted)

    def _count_requests(self, number: int) -> int:
        run = self.study.run(number)
        assert run is not None
        results = [read_json(file) for file in sorted(run.folder.glob("client-*.json"))]
        return sum(one["counts"]["scheduled"] for one in results)


def why_excluded(study: Study, number: int, predicted: Prediction) -> Note | None:
    """Return why the run of a pair is excluded; None if it counts."""
    latency = {name: one.value for name, one in predicted.latency_us.items()}
    found = judge_run(study, number, latency)
    return None if found.is_sound else found.note


def excluded_pairs(series: Mapping[str, Study], predicted: Prediction) -> dict[int, Note]:
    """Return the excluded pairs among the complete ones, each with its reason."""
    rounds = complete_rounds(
        list(series.values()), lambda study, number: why_excluded(study, number, predicted)
    )
    return rounds.excluded


def with_seed(target: Attached | Managed, seed: int) -> Attached | Managed:
    """Return the target with another seed, if it takes one."""
    return _with_option(target, "seed", seed)


def with_log(target: Attached | Managed, log: Path) -> Attached | Managed:
    """Return the target with a log of each request, if it can write one."""
    return _with_option(target, "log", str(log))


def _with_option(target: Attached | Managed, name: str, value: str | int) -> Attached | Managed:
    if not isinstance(target, Managed) or name not in target.spec.options:
        return target
    return replace(target, spec=target.spec.with_options({name: value}))
