"""Rounds of a comparison: how many are allowed, which are complete, and which are excluded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.figure_cache import run_figures
from hindmost.core.run.readings import plan_of
from hindmost.core.run.status import RunStatus, status
from hindmost.core.store import Study
from hindmost.core.study.begin import resume_with_runs
from hindmost.core.study.kind import resume_command
from hindmost.errors import StudyError, UsageError

MARGIN = 0.05
"""Ratios within this margin count as equal by default."""
MOST_PAIRS = 1_000


@dataclass(frozen=True, slots=True)
class PairLimits:
    """Limits of ``--pairs``.

    Parameters
    ----------
    least : int
        Smallest value.
    why : str
        Reason to refuse fewer.
    hint : str
        A correct option.
    """

    least: int
    why: str
    hint: str

    def check(self, count: int) -> int:
        """Return `count` if it is within the limits.

        Raises
        ------
        UsageError
            If it is not.

        Examples
        --------
        >>> PairLimits(2, "one pair shows no variation", "--pairs 6").check(6)
        6
        """
        if not self.least <= count <= MOST_PAIRS:
            raise UsageError(
                "bad-value",
                f"--pairs {count} is not between {self.least} and {MOST_PAIRS}: {self.why}",
                hint=self.hint,
                option="--pairs",
                value=count,
                least=self.least,
                most=MOST_PAIRS,
            )
        return count

    def reopen(self, folder: Path, kind: str, count: int | None) -> Study:
        """Open a study of `kind` to resume it; only its number of rounds may change."""
        return resume_with_runs(folder, kind, None if count is None else self.check(count))


def check_figure(by: str, plan: MeasurePlan) -> None:
    """Refuse a figure that the runs of a plan do not have.

    Raises
    ------
    UsageError
        If `by` is neither ``mean`` nor a percentile of the plan.
    """
    if by != "mean" and by not in plan.labels:
        raise UsageError(
            "unknown-name",
            f"--by {by} is not one of mean, {', '.join(plan.labels)}",
            hint="see --quantiles",
            option="--by",
            value=by,
            known=["mean", *plan.labels],
        )


def judge_run(
    study: Study, number: int, against: Mapping[str, float] | None = None, *, isolated: bool = False
) -> RunStatus:
    """Judge whether the host or the client disturbed a stored run.

    Parameters
    ----------
    against : mapping of str to float, optional
        Latencies in microseconds, by quantile, with which send delays are compared; default: the run's own.
    isolated : bool
        Whether isolated latency decides, which leaves interference out.
    """
    return _judge(study.folder, number, None if against is None else tuple(against.items()), isolated)


@cache
def _judge(
    folder: Path, number: int, against: tuple[tuple[str, float], ...] | None, isolated: bool
) -> RunStatus:
    # A stored run never changes, and reading one takes a tenth of a second.
    study = Study.open(folder)
    run = study.run(number)
    assert run is not None
    plan = plan_of(study)
    known = None if against is None else dict(against)
    return status(run_figures(run, plan), plan, against=known, isolated=isolated)


@dataclass(frozen=True, slots=True)
class CompleteRounds:
    """Rounds in which every arm has its run.

    Attributes
    ----------
    numbers : list of int
        All of them, in rising order.
    excluded : dict of int to Note
        The rounds that do not count, each with the reason of its first excluded run.
    """

    numbers: list[int]
    excluded: dict[int, Note]

    @property
    def valid(self) -> list[int]:
        """The rounds that count."""
        return [number for number in self.numbers if number not in self.excluded]

    @property
    def valid_or_all(self) -> list[int]:
        """The rounds that count, or all if none does; the verdict says so then."""
        return self.valid or self.numbers


def complete_rounds(
    arms: Sequence[Study], why_excluded: Callable[[Study, int], Note | None], numbers: range | None = None
) -> CompleteRounds:
    """Return the complete rounds of these arms, if given only those in `numbers`."""
    made = [{run.number for run in arm.runs()} for arm in arms]
    complete = sorted(set.intersection(*made)) if made else []
    complete = [number for number in complete if numbers is None or number in numbers]
    reasons = {number: [why for arm in arms if (why := why_excluded(arm, number))] for number in complete}
    return CompleteRounds(complete, {number: whys[0] for number, whys in reasons.items() if whys})


def no_complete_round(study: Study) -> StudyError:
    """Return the error of a study without a complete round."""
    return StudyError(
        "no-finished-runs",
        f"{study.folder} has no complete round",
        hint=resume_command(study),
        path=str(study.folder),
    )
