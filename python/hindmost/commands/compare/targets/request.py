"""The request to compare targets, and its study, new or resumed."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hindmost.commands.compare.rounds import MARGIN, PairLimits
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store import Study
from hindmost.core.study.begin import begin, continue_study, prepare_target
from hindmost.core.study.kind import refuse_another
from hindmost.errors import UsageError
from hindmost.stats.runs.contrast import LEVEL
from hindmost.stats.runs.looks import error_of_look, plan_looks

LIMITS = PairLimits(2, "one pair cannot show how runs vary", "--pairs 10")
REQUESTS, SHORTEST_S, LONGEST_S = 10_000, 1.5, 10.0
"""A short run has this many requests, within these limits. Many short runs know the difference of two servers
better than few long ones, because restarted servers differ, and each run starts with an interruption or not.
"""
WARM_SHARE = 0.25
"""Warm-up of a short run, as a share of its length."""


@dataclass(frozen=True, slots=True)
class TargetsRequest:
    """Targets to compare.

    Attributes
    ----------
    plans : sequence of MeasurePlan
        One for each target. The others are compared with the first.
    margin : float
        Ratios within it count as equal.
    fail_if : sequence of str
        Limits of change.
    looks : tuple of int
        Numbers of rounds at which the comparison may end; empty in studies of older versions, which have one
        look at the end.
    seen : int
        Number of looks before these, which have spent their part of the error.
    """

    plans: Sequence[MeasurePlan]
    margin: float = MARGIN
    fail_if: Sequence[str] = ()
    looks: tuple[int, ...] = ()
    seen: int = 0

    @property
    def labels(self) -> list[str]:
        """Labels of the arms; a target that is named twice gets numbers."""
        names = [plan.target for plan in self.plans]
        return [
            name if names.count(name) == 1 else f"{name} ({names[:place].count(name) + 1})"
            for place, name in enumerate(names)
        ]

    @property
    def decide_on(self) -> Literal["isolated", "raw"]:
        """Latency that decides."""
        return self.plans[0].decide_on

    def error_at(self, rounds: int) -> float:
        """Return the error that a look after this many rounds may make."""
        if not self.looks:
            return LEVEL
        return error_of_look(self.seen + min(bisect_left(self.looks, rounds), len(self.looks) - 1))

    def extend(self, rounds: int, made: int) -> TargetsRequest:
        """Return the request with `rounds` rounds and one look at them.

        Parameters
        ----------
        made : int
            Number of rounds that are made. Looks at them have spent their part of the error.
        """
        plans = [plan.model_copy(update={"runs": (rounds, rounds)}) for plan in self.plans]
        if self.looks[-1:] == (rounds,):
            return replace(self, plans=plans)
        seen = bisect_right(self.looks, made) if self.looks else 1
        return replace(self, plans=plans, looks=(rounds,), seen=self.seen + seen)

    def manifest(self) -> dict[str, Any]:
        """Return the request as the study's manifest stores it."""
        return {
            "plans": [plan.model_dump(mode="json") for plan in self.plans],
            "margin": self.margin,
            "fail_if": list(self.fail_if),
            "looks": list(self.looks),
            "seen": self.seen,
        }

    @classmethod
    def read(cls, study: Study) -> TargetsRequest:
        """Read the request from a study's manifest."""
        stored = study.part("comparison", dict)
        plans = [MeasurePlan.model_validate(plan) for plan in stored["plans"]]
        return cls(
            plans,
            stored["margin"],
            tuple(stored.get("fail_if", ())),
            tuple(stored.get("looks", ())),
            stored.get("seen", 0),
        )


def open_new(
    targets: Sequence[str],
    request: MeasureRequest,
    pairs: int | None = None,
    margin: float | None = None,
    fail_if: Sequence[str] = (),
    out: Path | None = None,
) -> Study:
    """Create the study of a comparison of targets.

    Raises
    ------
    UsageError
        If there are fewer than two targets, or the load does not suit one of them.
    TargetError
        If a running server cannot be reached.
    """
    require_two(targets, "TARGET", "hindmost compare --live TARGET TARGET --rate 10k")
    request = replace(request, runs=str(LIMITS.least if pairs is None else LIMITS.check(pairs)))
    plans = [replace(request, target=target).plan() for target in targets]
    if request.duration is None:
        short = _shorten_runs(request, plans)
        plans = [replace(short, target=target).plan() for target in targets]
    looks = plan_looks(len(plans[0].quantiles) * (len(plans) - 1)) if pairs is None else (pairs,)
    plans = [plan.model_copy(update={"runs": (looks[0], looks[-1])}) for plan in plans]
    stored = TargetsRequest(plans, MARGIN if margin is None else margin, fail_if, looks)
    for plan in plans[1:]:
        prepare_target(plan)
    return begin(plans[0], out, "comparison", comparison=stored.manifest())


def _shorten_runs(request: MeasureRequest, plans: Sequence[MeasurePlan]) -> MeasureRequest:
    """Return the request with short runs, unless a schedule or trace needs all of its time."""
    if any(plan.schedule or (isinstance(plan.arrivals, dict) and "file" in plan.arrivals) for plan in plans):
        return request
    slowest = min((plan.rate_per_s for plan in plans if plan.rate_per_s is not None), default=math.inf)
    seconds = min(max(REQUESTS / slowest, SHORTEST_S), LONGEST_S)
    warmup = f"{WARM_SHARE * seconds:g}s" if request.warmup is None else request.warmup
    return replace(request, duration=f"{seconds:g}s", warmup=warmup)


def require_two(arms: Sequence[object], argument: str, hint: str) -> None:
    """Refuse a comparison of fewer than two arms.

    Raises
    ------
    UsageError
        If there are fewer.
    """
    if len(arms) < 2:
        noun = {"TARGET": "targets", "STUDY": "studies"}[argument]
        raise UsageError(
            "missing-argument",
            f"a comparison needs at least two {noun}",
            hint=hint,
            argument=argument,
            need=2,
            have=len(arms),
        )


def reopen(folder: Path, pairs: int | None, fail_if: Sequence[str]) -> Study:
    """Open a comparison to resume it; only the number of pairs and the limits may change."""
    study = Study.open(folder)
    refuse_another(study, "comparison")
    stored = TargetsRequest.read(study)
    stored = replace(stored, fail_if=tuple(fail_if) or stored.fail_if)
    if pairs is not None:
        stored = stored.extend(LIMITS.check(pairs), _count_rounds(study, len(stored.plans)))
    for plan in stored.plans[1:]:
        prepare_target(plan)
    return continue_study(study, stored.plans[0], comparison=stored.manifest())


def _count_rounds(study: Study, arms: int) -> int:
    runs = (study.folder.glob(f"{place}/runs/[0-9]*/run.json") for place in range(1, arms + 1))
    return min(sum(1 for _ in each) for each in runs)
