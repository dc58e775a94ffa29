"""What a verification is asked to do: at which loads, how many pairs; its study, new or to go on with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from hindmost.errors import UsageError
from hindmost.models import Clone, load_clone
from hindmost.plan import MeasurePlan, parse_percent
from hindmost.run.readings import plan_of
from hindmost.run.request import MeasureRequest
from hindmost.store import Study
from hindmost.studies.begin import begin, go_on
from hindmost.studies.kind import refuse_another
from hindmost.studies.rounds import Rounds
from hindmost.studies.verification.comparison import Point
from hindmost.studies.verification.logged import Logged, read_logged
from hindmost.targets import parse_target

MAY_CHANGE = ("runs", "remake")
ALLOWED = Rounds("--pairs", 2, "one pair cannot show how runs vary", "--pairs 6")
Occupy = Literal["wall", "cpu"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a verification compares.

    Attributes
    ----------
    clone : Clone
        What the server behind ``clone`` runs.
    occupy : str
        Whether its services take time or CPU time.
    points : sequence of Point
        Loads.
    logged : Logged or None
        What a request of the original cost when the logs were made that the clone is fitted to.
    """

    clone: Clone
    occupy: Occupy
    points: Sequence[Point]
    logged: Logged | None = None

    def manifest(self) -> dict[str, Any]:
        """As a study's manifest keeps it."""
        return {
            "clone": self.clone.document,
            "occupy": self.occupy,
            "loads": [point.load for point in self.points],
            "logged": None if self.logged is None else asdict(self.logged),
        }

    @classmethod
    def of(cls, study: Study) -> Asked:
        """Read it from a study; an older one tells its loads by its folders."""
        found = study.manifest["verification"]
        clone = Clone.of(found["clone"], str(study.folder / "manifest.json"))
        loads = found.get("loads") or [float(one.parent.parent.name) for one in _series(study)]
        logged = found.get("logged")
        return cls(
            clone,
            found.get("occupy", "wall"),
            [Point(load, clone.rate_at(load) or 0.0) for load in sorted(loads)],
            None if logged is None else Logged(**{key: _frozen(value) for key, value in logged.items()}),
        )


def _series(study: Study) -> list[Path]:
    return sorted(study.folder.glob("[0-9]*/original/manifest.json"))


def _frozen(value: Any) -> Any:  # noqa: ANN401 (a number, or a list of them)
    return tuple(value) if isinstance(value, list) else value


def points_of(loads: str, clone: Clone) -> list[Point]:
    """Read ``--loads``, shares of a clone's capacity.

    Raises
    ------
    UsageError
        If it has no capacity, or a share is not below it.
    """
    if clone.capacity_per_s is None:
        raise UsageError(
            "no-capacity",
            f"{clone.name} does nothing that takes time, so it has no capacity for --loads to be shares of",
            hint="hindmost measure synth",
            name=clone.name,
            option="--loads",
        )
    shares = [parse_percent(text.strip(), "--loads") for text in loads.split(",")]
    return [Point(share, clone.rate_at(share) or 0.0) for share in sorted(set(shares))]


def request_for(original: str, **asked: Any) -> MeasureRequest:  # noqa: ANN401 (options of measure)
    """How each run of a verification is made; its rate is that of each load.

    Raises
    ------
    UsageError
        If the original runs already.
    """
    if not parse_target(original).managed:
        raise UsageError(
            "needs-managed-target",
            f"{original} runs already, but each pair must start its servers",
            hint="use a preset, or a target file with the command that starts it",
            target=original,
        )
    return MeasureRequest(target=original, rate="1k", samples=0, stamps="off", quantiles="50,95,99", **asked)


def asked_for(
    clone: Clone | str | Path,
    original: str,
    *,
    threads: int | None = None,
    loads: str = "20%,50%,70%",
    logged: Sequence[Path] | None = None,
    pairs: int = 6,
    occupy: Occupy = "cpu",
    out: Path | None = None,
    **options: Any,  # noqa: ANN401 (options of measure)
) -> Study:
    """The study of a verification that is asked for in words.

    Raises
    ------
    UsageError
        If something of it cannot be meant, or the study in `out` was made in another way.
    """
    document = clone if isinstance(clone, Clone) else load_clone(clone)
    if threads is not None:
        document = document.with_changes(threads=threads)
    points = points_of(loads, document)
    request = request_for(original, runs=str(ALLOWED.checked(pairs)), **options)
    asked = Asked(document, occupy, points, read_logged(logged) if logged else None)
    return opened(asked, request.plan(), out)


def opened(asked: Asked, plan: MeasurePlan, out: Path | None) -> Study:
    """The study of a verification: a new one, or the one in `out`, to go on with.

    Raises
    ------
    UsageError
        If what is there was made in another way.
    """
    if out is not None and (out / "manifest.json").exists():
        study = Study.open(out)
        refuse_unlike(study, asked, plan)
        study = go_on(study, plan, verification=asked.manifest())
    else:
        study = begin(plan, out, "verification", verification=asked.manifest())
    study.write("clone.json", asked.clone.text)
    return study


def reopened(folder: Path, pairs: int | None = None) -> Study:
    """A verification to go on with as it was begun; only the number of pairs may change."""
    return ALLOWED.reopened(folder, "verification", pairs)


def refuse_unlike(study: Study, asked: Asked, plan: MeasurePlan) -> None:
    """Refuse to mix runs that are not alike: only loads and the numbers of pairs may change.

    Raises
    ------
    UsageError
        Names what differs.
    """
    refuse_another(study, "verification")
    verified = study.manifest["verification"]
    if verified.get("clone") != asked.clone.document:
        raise UsageError(
            "study-differs",
            f"{study.folder} verifies another clone, and pairs of two clones must not be mixed",
            hint="choose another --out",
            path=str(study.folder),
            key="clone",
        )
    if (before_ := verified.get("occupy", "wall")) != asked.occupy:
        raise UsageError(
            "study-differs",
            f"{study.folder} was begun with --occupy {before_}, not {asked.occupy}",
            hint="choose another --out, or the same --occupy",
            path=str(study.folder),
            key="occupy",
            before=before_,
            now=asked.occupy,
        )
    before, now = (one.model_dump(mode="json") for one in (plan_of(study), plan))
    if changed := [name for name in now if name not in MAY_CHANGE and before[name] != now[name]]:
        name = changed[0]
        raise UsageError(
            "study-differs",
            f"{study.folder} was begun with {name} {before[name]}, not {now[name]}, so its runs and new ones"
            " would not be alike",
            hint="choose another --out, or the same options; only --loads, --pairs and --remake may change",
            path=str(study.folder),
            key=name,
            before=before[name],
            now=now[name],
        )
