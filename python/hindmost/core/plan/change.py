"""The limits of ``--fail-if``, such as ``'p99>+5%'``: changes that fail a comparison."""

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

    ``figure``: ``p99`` or ``mean``; ``isolated``: of isolated latency; ``above``: larger changes fail, else
    smaller ones; ``limit``: a share (0.05) or microseconds, according to ``unit``.
    """

    text: str
    figure: str
    isolated: bool
    above: bool
    limit: float
    unit: Literal["share", "us"]


def parse_change(text: str) -> ChangeLimit:
    """Read a limit of a change.

    >>> change = parse_change("isolated p99>+5%")
    >>> change.figure, change.isolated, change.above, change.limit, change.unit
    ('p99', True, True, 0.05, 'share')
    >>> parse_change("p50 < -20us").limit
    -20.0

    Raises
    ------
    UsageError
        If it cannot be read, or no ratio can be so small.
    """
    match = re.fullmatch(
        r"\s*((?:isolated|calm)\s+)?(p\d{1,2}(?:\.\d+)?|mean)\s*([<>])=?\s*([+-]?)\s*(\d+(?:\.\d+)?)"
        r"\s*(%|us|µs|ms|s)\s*",
        text,
    )
    if not match:
        raise UsageError(
            "bad-value", f"--fail-if {text!r} cannot be read", hint=_HINT, option="--fail-if", value=text
        )
    isolated, figure, sense, sign, amount, unit = match.groups()
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
        text.strip(), figure, bool(isolated), sense == ">", limit, "share" if unit == "%" else "us"
    )


def parse_changes(texts: Sequence[str]) -> list[ChangeLimit]:
    """Read several limits; two limits of one figure must be satisfiable together.

    Raises
    ------
    UsageError
        If every change crosses one of them.
    """
    limits = [parse_change(text) for text in texts]
    for first, other in combinations(limits, 2):
        above, below = (first, other) if first.above else (other, first)
        same_figure = (first.figure, first.isolated, first.unit) == (other.figure, other.isolated, other.unit)
        if same_figure and above.above and not below.above and below.limit >= above.limit:
            raise UsageError(
                "conflicting-options",
                f"--fail-if {first.text!r} and {other.text!r} contradict each other: any change crosses one",
                hint=f"leave one out, or swap them: '{above.figure}<-5%' and '{above.figure}>+5%'",
                option="--fail-if",
                value=first.text,
                other=other.text,
            )
    return limits
