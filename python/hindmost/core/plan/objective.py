"""The objective of a rate search: limits on latencies and on shares of requests."""

from __future__ import annotations

from dataclasses import dataclass

from hindmost.core.plan.term import Term, parse_term
from hindmost.errors import UsageError

EXAMPLES = "'p99<500us', 'isolated p99<500us' or 'p99<500us,failed<1%'"


@dataclass(frozen=True, slots=True)
class Objective:
    """Terms that must all hold, and their ``text``. The first term on a latency is the one shown."""

    text: str
    terms: tuple[Term, ...]

    @property
    def leading(self) -> Term:
        """The first latency term."""
        return next(term for term in self.terms if term.is_latency)

    @property
    def isolated(self) -> bool:
        """Whether all limits on latency are on isolated latency, which does not need a quiet host."""
        return all(term.isolated or term.is_share for term in self.terms)

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels of the quantiles in the terms."""
        return tuple(term.level for term in self.terms if term.level is not None)


def parse_objective(text: str) -> Objective:
    """Read the objective of a search: terms separated by commas.

    >>> [(term.key, term.limit) for term in parse_objective("isolated p99<500us, errors<0.1%").terms]
    [('isolated p99', 500.0), ('errors', 0.001)]

    Raises
    ------
    UsageError
        If it cannot be read, limits no latency, or limits a figure twice.
    """
    terms = tuple(parse_term(part, "objective", EXAMPLES) for part in text.split(","))
    for term in terms:
        if term.above or not (term.is_share or term.is_latency):
            raise UsageError(
                "bad-value",
                f"objective {term.text!r}: a search raises the rate until a latency or a share rises above"
                " its limit",
                hint=f"write it like {EXAMPLES}",
                name="objective",
                value=term.text,
            )
    if all(term.is_share for term in terms):
        raise UsageError(
            "bad-value",
            f"objective {text!r} limits no latency, so a server that answers late meets it at any rate",
            hint=f"'p99<500us,{text.strip()}'",
            name="objective",
            value=text,
        )
    names = [term.key for term in terms]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(
            "duplicate-name",
            f"objective {text!r} limits {twice} twice",
            hint="leave one of them out",
            name=twice,
            value=text,
        )
    return Objective(",".join(part.strip() for part in text.split(",")), terms)
