"""What studies that compare in rounds are asked alike: how many rounds, by which figure, and to go on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hindmost.errors import UsageError
from hindmost.plan import MeasurePlan
from hindmost.store import Study
from hindmost.studies.begin import again_with

MOST = 1_000


@dataclass(frozen=True, slots=True)
class Rounds:
    """How many rounds a kind of study may have.

    Parameters
    ----------
    option : str
        That says how many, as it is written.
    least : int
        Fewer are refused.
    why : str
        What fewer come to.
    hint : str
        What to write in its place.
    """

    option: str
    least: int
    why: str
    hint: str

    def checked(self, count: int) -> int:
        """The same number.

        Raises
        ------
        UsageError
            If it is not within the bounds.

        Examples
        --------
        >>> Rounds("--pairs", 2, "one tells nothing", "--pairs 6").checked(6)
        6
        """
        if not self.least <= count <= MOST:
            raise UsageError(
                "bad-value",
                f"{self.option} {count} is not between {self.least} and {MOST}: {self.why}",
                hint=self.hint,
                option=self.option,
                value=count,
                least=self.least,
                most=MOST,
            )
        return count

    def reopened(self, folder: Path, kind: str, count: int | None) -> Study:
        """A study of `kind` to go on with as it was begun; only the number of rounds may change."""
        return again_with(folder, kind, None if count is None else self.checked(count))


def check_figure(by: str, plan: MeasurePlan) -> None:
    """Refuse a figure to compare by that runs will not have.

    Raises
    ------
    UsageError
        It is neither ``mean`` nor one of the plan's percentiles.
    """
    if by != "mean" and by not in plan.labels:
        raise UsageError(
            "unknown-name",
            f"--by {by} is none of mean, {', '.join(plan.labels)}",
            hint="see --quantiles",
            option="--by",
            value=by,
            known=["mean", *plan.labels],
        )
