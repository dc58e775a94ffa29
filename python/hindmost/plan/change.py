"""What people write of a change that must not be: ``--fail-if 'p99>+5%'``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from hindmost.errors import UsageError

_US = {"us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
_HINT = "write it like 'p99>+5%', 'p50>+20us' or 'isolated p99>+5%'"


@dataclass(frozen=True, slots=True)
class ChangeLimit:
    """A change of one figure that fails a comparison.

    ``figure``: ``p99`` or ``mean``; ``calm``: of calm latency; ``above``: larger changes fail, else smaller
    ones; ``limit``: a share (.05) or microseconds, as ``unit`` says.
    """

    text: str
    figure: str
    calm: bool
    above: bool
    limit: float
    unit: Literal["share", "us"]


def parse_change(text: str) -> ChangeLimit:
    """Read a limit of a change.

    >>> found = parse_change("isolated p99>+5%")
    >>> found.figure, found.calm, found.above, found.limit, found.unit
    ('p99', True, True, 0.05, 'share')
    >>> parse_change("p50 < -20us").limit
    -20.0

    Raises
    ------
    UsageError
        If it cannot be read, or no ratio can be so small.
    """
    found = re.fullmatch(
        r"\s*((?:isolated|calm)\s+)?(p\d{1,2}(?:\.\d+)?|mean)\s*([<>])=?\s*([+-]?)\s*(\d+(?:\.\d+)?)"
        r"\s*(%|us|µs|ms|s)\s*",
        text,
    )
    if not found:
        raise UsageError(
            "bad-value", f"--fail-if {text!r} cannot be read", hint=_HINT, option="--fail-if", value=text
        )
    calm, figure, sense, sign, amount, unit = found.groups()
    value = float(amount) * (-1.0 if sign == "-" else 1.0)
    if not sign and value:
        raise UsageError(
            "bad-value",
            f"--fail-if {text!r} needs a sign: it limits a change",
            hint=f"'{figure}{sense}+{amount}{unit}'",
            option="--fail-if",
            value=text,
        )
    if unit == "%" and value <= -100.0:
        raise UsageError(
            "unreachable-limit",
            f"--fail-if {text!r}: latency cannot fall by {amount} %",
            hint=_HINT,
            option="--fail-if",
            value=text,
        )
    limit = value / 100.0 if unit == "%" else value * _US[unit]
    return ChangeLimit(
        text.strip(), figure, bool(calm), sense == ">", limit, "share" if unit == "%" else "us"
    )


def parse_changes(texts: Sequence[str]) -> list[ChangeLimit]:
    """Read several; two of one figure must leave something that holds both.

    Raises
    ------
    UsageError
        If whatever is found crosses one of them.
    """
    found = [parse_change(text) for text in texts]
    for one, other in combinations(found, 2):
        above, below = (one, other) if one.above else (other, one)
        of_one = (one.figure, one.calm, one.unit) == (other.figure, other.calm, other.unit)
        if of_one and above.above and not below.above and below.limit >= above.limit:
            raise UsageError(
                "conflicting-options",
                f"--fail-if {one.text!r} and {other.text!r} contradict each other: every change crosses one",
                hint=f"leave one out, or swap them: '{above.figure}<-5%' and '{above.figure}>+5%'",
                option="--fail-if",
                value=one.text,
                other=other.text,
            )
    return found
