"""What a comparison of targets is asked to do, and its study, new or to go on with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.plan import MeasurePlan
from hindmost.run.request import MeasureRequest
from hindmost.store import Study
from hindmost.studies.begin import begin, go_on, ready
from hindmost.studies.kind import refuse_another
from hindmost.studies.rounds import Rounds

MARGIN = 0.05
PAIRS = 10
ALLOWED = Rounds("--pairs", 2, "one pair cannot show how runs vary", f"--pairs {PAIRS}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is compared.

    Attributes
    ----------
    plans : sequence of MeasurePlan
        Of each side; the first is what the others are compared with.
    margin : float
        Up to which a ratio counts as the same.
    fail_if : sequence of str
        Limits of change.
    """

    plans: Sequence[MeasurePlan]
    margin: float = MARGIN
    fail_if: Sequence[str] = ()

    @property
    def labels(self) -> list[str]:
        """Names of the sides; a target against itself gets numbers."""
        names = [plan.target for plan in self.plans]
        return [
            name if names.count(name) == 1 else f"{name} ({names[:place].count(name) + 1})"
            for place, name in enumerate(names)
        ]

    def manifest(self) -> dict[str, Any]:
        """As a study's manifest keeps it."""
        return {
            "plans": [plan.model_dump(mode="json") for plan in self.plans],
            "margin": self.margin,
            "fail_if": list(self.fail_if),
        }

    @classmethod
    def of(cls, study: Study) -> Asked:
        """Read it from a study."""
        found = study.manifest["comparison"]
        plans = [MeasurePlan.model_validate(plan) for plan in found["plans"]]
        return cls(plans, found["margin"], tuple(found.get("fail_if", ())))


def opened(
    targets: Sequence[str],
    request: MeasureRequest,
    pairs: int | None = None,
    margin: float | None = None,
    fail_if: Sequence[str] = (),
    out: Path | None = None,
) -> Study:
    """A new study that compares targets.

    Raises
    ------
    UsageError
        If there are fewer than two, or they cannot be loaded as asked.
    TargetError
        If a running server is not there.
    """
    if len(targets) < 2:
        raise UsageError(
            "missing-argument",
            "a comparison needs at least two targets",
            hint="hindmost compare --live TARGET TARGET --rate 10k",
            argument="TARGET",
            need=2,
            have=len(targets),
        )
    runs = str(ALLOWED.checked(PAIRS if pairs is None else pairs))
    plans = [replace(request, target=target, runs=runs).plan() for target in targets]
    asked = Asked(plans, MARGIN if margin is None else margin, fail_if)
    for plan in plans[1:]:
        ready(plan)
    return begin(plans[0], out, "comparison", comparison=asked.manifest())


def reopened(folder: Path, pairs: int | None, fail_if: Sequence[str]) -> Study:
    """A comparison to go on with as it was begun; only the number of pairs and the limits may change."""
    study = Study.open(folder)
    refuse_another(study, "comparison")
    asked = Asked.of(study)
    plans = list(asked.plans)
    if pairs is not None:
        both = (ALLOWED.checked(pairs), pairs)
        plans = [plan.model_copy(update={"runs": both}) for plan in plans]
    for plan in plans[1:]:
        ready(plan)
    again = replace(asked, plans=plans, fail_if=tuple(fail_if) or asked.fail_if)
    return go_on(study, plans[0], comparison=again.manifest())
