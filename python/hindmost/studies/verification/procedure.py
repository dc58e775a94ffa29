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

from collections.abc import Callable, Mapping

from hindmost.fleet import HERE, Fleet
from hindmost.plan import MeasurePlan
from hindmost.run.soundness import RepeatBudget
from hindmost.store import Study
from hindmost.store.predictions import Prediction
from hindmost.store.verification import Verification as Document
from hindmost.store.verification import VerifiedPoint
from hindmost.studies.pairs import interleave
from hindmost.studies.part import open_part
from hindmost.studies.verification.answer import document_of, predictions, verified
from hindmost.studies.verification.asked import Asked
from hindmost.studies.verification.comparison import WHO, Point
from hindmost.studies.verification.series import Series
from hindmost.targets import Managed


class Verification:
    """Makes the pairs of runs of a clone and its original.

    Parameters
    ----------
    study : Study
        An open, locked study; takes the series.
    plan : MeasurePlan
        Everything but the rate; ``plan.runs`` are the pairs at each load.
    asked : Asked
        The clone, and the loads.
    targets : mapping
        The server behind ``original`` and behind ``clone``.
    on_load : callable, optional
        Called with each load when its pairs are done.
    fleet : Fleet, optional
        Where the load clients run; default: this machine.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        asked: Asked,
        targets: Mapping[str, Managed],
        on_load: Callable[[VerifiedPoint], None] = lambda _: None,
        fleet: Fleet = HERE,
    ) -> None:
        self.study = study
        self.plan = plan
        self.asked = asked
        self.targets = {**targets, "again": targets["original"]}
        self.on_load = on_load
        self.fleet = fleet

    def run(self) -> Document:
        """Make all runs that are not there yet; returns the answer.

        Raises
        ------
        TargetError, InstanceError
            If a server cannot be started or reached, or dies.
        StudyError
            If a run cannot be stored.
        """
        predicted = predictions(self.asked, self.plan)
        found = []
        for point in self.asked.points:
            plan = self.plan.model_copy(update={"rate_per_s": point.rate_per_s})
            series = {who: self._series(point, who, plan, predicted[point.load]) for who in WHO}
            interleave(
                series, f"{self.plan.seed} {point.folder}", RepeatBudget(self.plan.runs[0], self.plan.remake)
            )
            found.append(verified(self.study, self.asked, point, predicted))
            self.on_load(found[-1])
        return document_of(self.study, self.asked, predicted, found)

    def _series(self, point: Point, who: str, plan: MeasurePlan, predicted: Prediction) -> Series:
        named = plan.model_copy(update={"target": self.targets[who].name})
        study = open_part(self.study, self.study.folder / point.folder / who, named)
        return Series(study, who, plan, self.targets[who], self.asked.clone, predicted, self.fleet)
