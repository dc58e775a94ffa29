"""Numbers and names in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def join_names(names: Sequence[str]) -> str:
    """Join names for a sentence.

    >>> join_names(["p50", "p95", "p99"])
    'p50, p95 and p99'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def percent(share: float, digits: int = 2) -> str:
    """Format a share as a percentage with this many significant digits.

    >>> percent(0.0163), percent(0.6), percent(1.0, 3)
    ('1.6 %', '60 %', '100 %')
    """
    return f"{100.0 * share:.{max(digits, 3) if share >= 0.995 else digits}g} %"
