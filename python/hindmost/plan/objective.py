"""What a search holds rates against: limits on latencies, and on shares of requests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from hindmost.errors import UsageError
from hindmost.plan.units import format_us, parse_percent, parse_threshold

Share = Literal["errors", "unanswered"]
SHARES: dict[str, tuple[Literal["errors", "timeouts", "unsent"], ...]] = {
    "errors": ("errors",),
    "unanswered": ("timeouts", "unsent"),
}
"""Shares of the requests that were due, and the counts they are made of."""


@dataclass(frozen=True, slots=True)
class Term:
    """One limit: ``name`` stays below ``limit``, in microseconds, or as a fraction for a share.

    ``calm``: of calm latency, not of latency itself.
    """

    name: str
    limit: float
    calm: bool = False

    @property
    def key(self) -> str:
        """What tells it from all others: ``p99``, ``calm p99``, ``errors``."""
        return f"calm {self.name}" if self.calm else self.name

    @property
    def is_share(self) -> bool:
        """Whether it limits a share of requests, not a latency."""
        return self.name in SHARES

    @property
    def level(self) -> float | None:
        """The quantile's level; None for the mean and for shares."""
        return round(float(self.name[1:]) / 100.0, 12) if self.name[0] == "p" else None

    def write(self, value: float) -> str:
        """A value of this term in words.

        >>> Term("p99", 500.0).write(431.2), Term("errors", 0.001).write(0.0004)
        ('431 us', '0.04 %')
        """
        return f"{100.0 * value:.3g} %" if self.is_share else format_us(value)


@dataclass(frozen=True, slots=True)
class Objective:
    """Terms that must all hold, as ``text`` says; the first one on a latency is the one that is shown."""

    text: str
    terms: tuple[Term, ...]

    @property
    def leading(self) -> Term:
        """The first latency term."""
        return next(term for term in self.terms if not term.is_share)

    @property
    def calm(self) -> bool:
        """Whether all its limits on latency are on calm latency, which needs no calm host."""
        return all(term.calm or term.is_share for term in self.terms)

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels of the quantiles it names."""
        return tuple(term.level for term in self.terms if term.level is not None)


def parse_objective(text: str) -> Objective:
    """Read the objective of a search: terms with commas between them.

    >>> [(term.key, term.limit) for term in parse_objective("calm p99<500us, errors<0.1%").terms]
    [('calm p99', 500.0), ('errors', 0.001)]

    Raises
    ------
    UsageError
        If it cannot be read, limits no latency, or limits something twice.
    """
    terms = tuple(_term(part) for part in text.split(","))
    if all(term.is_share for term in terms):
        raise UsageError(
            f"objective {text!r} limits no latency: a server that answers late holds every rate",
            hint=f"'p99<500us,{text.strip()}'",
        )
    names = [term.key for term in terms]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"objective {text!r} limits {twice} twice", hint="leave one of them out")
    return Objective(",".join(part.strip() for part in text.split(",")), terms)


def _term(text: str) -> Term:
    match = re.fullmatch(r"\s*(errors|unanswered)\s*<=?\s*(.+?)\s*", text)
    if match:
        return Term(match[1], parse_percent(match[2], f"limit of {match[1]}"))
    try:
        threshold = parse_threshold(text, calm_too=True)
    except UsageError as error:
        if "cannot be read" not in error.message:
            raise
        raise UsageError(
            f"objective {text.strip()!r} cannot be read",
            hint="write it like 'p99<500us', 'calm p99<500us' or 'p99<500us,errors<0.1%,unanswered<1%'",
        ) from None
    return Term(threshold.name, threshold.limit_us, threshold.calm)
