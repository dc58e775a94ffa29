"""The request to compare a clone with its original, and its study, new or resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hindmost.commands.clone.document import Clone, load_clone
from hindmost.commands.compare.clone.log_costs import read_logged
from hindmost.commands.compare.clone.ratios import LoadPoint
from hindmost.commands.compare.rounds import PairLimits
from hindmost.core.plan import MeasurePlan, parse_percent
from hindmost.core.run.readings import plan_of
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store import Study
from hindmost.core.store.manifest import LoggedCost, VerificationPlan
from hindmost.core.study.begin import begin, continue_study
from hindmost.core.study.kind import refuse_another
from hindmost.core.targets import parse_target
from hindmost.errors import UsageError

MAY_CHANGE = {"runs", "remake"}
"""Keys of the plan that may change when a study is resumed."""
LOADS = "20%,50%,70%"
PAIRS = 6
LIMITS = PairLimits(2, "one pair cannot show how runs vary", f"--pairs {PAIRS}")
Occupy = Literal["wall", "cpu"]


@dataclass(frozen=True, slots=True)
class CloneRequest:
    """A clone to compare with its original.

    Attributes
    ----------
    clone : Clone
        The clone.
    occupy : str
        Whether its services take wall-clock time or CPU time.
    points : sequence of LoadPoint
        Loads.
    logged : LoggedCost or None
        CPU time of a request of the original in the studies whose logs the clone is fitted to.
    """

    clone: Clone
    occupy: Occupy
    points: Sequence[LoadPoint]
    logged: LoggedCost | None = None

    def manifest(self) -> VerificationPlan:
        """Return the request as the study's manifest stores it."""
        loads = tuple(point.load for point in self.points)
        return VerificationPlan(
            clone=self.clone.document, occupy=self.occupy, loads=loads, logged=self.logged
        )

    @classmethod
    def read(cls, study: Study) -> CloneRequest:
        """Read the request from a study's manifest; in old studies, the folders are the loads."""
        stored = study.part("verification", VerificationPlan)
        clone = Clone.from_document(stored.clone, str(study.folder / "manifest.json"))
        folders = study.folder.glob("[0-9]*/original/manifest.json")
        loads = stored.loads or [float(file.parent.parent.name) for file in folders]
        points = [LoadPoint(load, clone.rate_at(load) or 0.0) for load in sorted(loads)]
        return cls(clone, stored.occupy, points, stored.logged)


def parse_loads(text: str, clone: Clone) -> list[LoadPoint]:
    """Parse ``--loads``, shares of a clone's capacity.

    Raises
    ------
    UsageError
        If the clone has no capacity, or a share is not below 100 %.
    """
    if clone.capacity_per_s is None:
        raise UsageError(
            "no-capacity",
            f"{clone.name} does nothing that takes time, so it has no capacity for --loads to be shares of",
            hint="hindmost measure synth",
            name=clone.name,
            option="--loads",
        )
    shares = [parse_percent(part.strip(), "--loads") for part in text.split(",")]
    return [LoadPoint(share, clone.rate_at(share) or 0.0) for share in sorted(set(shares))]


def open_new(
    clone: Clone | str | Path,
    original: str,
    *,
    threads: int | None = None,
    loads: str = LOADS,
    logged: Sequence[Path] | None = None,
    pairs: int = PAIRS,
    occupy: Occupy = "cpu",
    out: Path | None = None,
    **options: Any,  # noqa: ANN401 (options of measure)
) -> Study:
    """Create the study of a clone and its original, or open the one in `out` to resume it.

    Raises
    ------
    UsageError
        If an option is wrong, or the study in `out` has another request.
    """
    document = clone if isinstance(clone, Clone) else load_clone(clone)
    if threads is not None:
        document = document.with_changes(threads=threads)
    points = parse_loads(loads, document)
    if not parse_target(original).managed:
        raise UsageError(
            "needs-managed-target",
            f"{original} runs already, but each pair must start its servers",
            hint="use a preset, or a target file with the command that starts it",
            target=original,
        )
    runs = str(LIMITS.check(pairs))
    plan = MeasureRequest(  # the rate is a placeholder, since each load has its own
        target=original, rate="1k", runs=runs, samples=0, stamps="off", quantiles="50,95,99", **options
    ).plan()
    request = CloneRequest(document, occupy, points, read_logged(logged) if logged else None)
    if out is not None and (out / "manifest.json").exists():
        study = Study.open(out)
        refuse_other_request(study, request, plan)
        study = continue_study(study, plan, verification=request.manifest())
    else:
        study = begin(plan, out, "verification", verification=request.manifest())
    study.write("clone.json", request.clone.text)
    return study


def reopen(folder: Path, pairs: int | None = None) -> Study:
    """Open a study to resume it; only its number of pairs may change."""
    return LIMITS.reopen(folder, "verification", pairs)


def refuse_other_request(study: Study, request: CloneRequest, plan: MeasurePlan) -> None:
    """Refuse to mix runs of different requests; only loads and the number of pairs may change.

    Raises
    ------
    UsageError
        If anything else differs; the error names it.
    """
    refuse_another(study, "verification")
    stored = study.part("verification", VerificationPlan)
    if stored.clone != request.clone.document:
        raise UsageError(
            "study-differs",
            f"{study.folder} verifies another clone, and pairs of two clones must not be mixed",
            hint="choose another --out",
            path=str(study.folder),
            key="clone",
        )
    old, new = (one.model_dump(mode="json", exclude=MAY_CHANGE) for one in (plan_of(study), plan))
    old["occupy"], new["occupy"] = stored.occupy, request.occupy
    for key, now in new.items():
        if old[key] != now:
            raise UsageError(
                "study-differs",
                f"{study.folder} was begun with {key} {old[key]}, not {now}, so the runs would differ",
                hint="choose another --out, or the same options; --loads, --pairs and --remake may change",
                path=str(study.folder),
                key=key,
                before=old[key],
                now=now,
            )
