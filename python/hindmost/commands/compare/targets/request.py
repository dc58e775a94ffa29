"""The request to compare targets, and its study, new or resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hindmost.commands.compare.rounds import MARGIN, PairLimits
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store import Study
from hindmost.core.study.begin import begin, continue_study, prepare_target
from hindmost.core.study.kind import refuse_another
from hindmost.errors import UsageError

PAIRS = 10
LIMITS = PairLimits(2, "one pair cannot show how runs vary", f"--pairs {PAIRS}")


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
    """

    plans: Sequence[MeasurePlan]
    margin: float = MARGIN
    fail_if: Sequence[str] = ()

    @property
    def labels(self) -> list[str]:
        """Labels of the arms; a target that is named twice gets numbers."""
        names = [plan.target for plan in self.plans]
        return [
            name if names.count(name) == 1 else f"{name} ({names[:place].count(name) + 1})"
            for place, name in enumerate(names)
        ]

    def manifest(self) -> dict[str, Any]:
        """Return the request as the study's manifest stores it."""
        return {
            "plans": [plan.model_dump(mode="json") for plan in self.plans],
            "margin": self.margin,
            "fail_if": list(self.fail_if),
        }

    @classmethod
    def read(cls, study: Study) -> TargetsRequest:
        """Read the request from a study's manifest."""
        stored = study.part("comparison", dict)
        plans = [MeasurePlan.model_validate(plan) for plan in stored["plans"]]
        return cls(plans, stored["margin"], tuple(stored.get("fail_if", ())))


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
    runs = str(LIMITS.check(PAIRS if pairs is None else pairs))
    plans = [replace(request, target=target, runs=runs).plan() for target in targets]
    stored = TargetsRequest(plans, MARGIN if margin is None else margin, fail_if)
    for plan in plans[1:]:
        prepare_target(plan)
    return begin(plans[0], out, "comparison", comparison=stored.manifest())


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
    plans = list(stored.plans)
    if pairs is not None:
        count = (LIMITS.check(pairs), pairs)
        plans = [plan.model_copy(update={"runs": count}) for plan in plans]
    for plan in plans[1:]:
        prepare_target(plan)
    changed = replace(stored, plans=plans, fail_if=tuple(fail_if) or stored.fail_if)
    return continue_study(study, plans[0], comparison=changed.manifest())
