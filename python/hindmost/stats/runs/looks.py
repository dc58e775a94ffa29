"""Looks at a comparison that ends as soon as it is decided, and the error that each look may make.

Each look spends two thirds of the error that is left: 3.3 %, 1.1 % and 0.4 % of 5 %. The sum stays below 5 %
for any number of looks, so pairs can be added later, too. Each look has twice as many pairs as the one
before: an effect that needs more than one look to be found is found at most twice as late as with a look
after every pair.
"""

from __future__ import annotations

from hindmost.stats.runs.contrast import LEVEL, least_pairs

SPENT = 2.0 / 3.0
LOOKS = 3


def error_of_look(place: int) -> float:
    """Return the error that a look may make, counted from 0.

    >>> [round(error_of_look(place), 4) for place in range(4)]
    [0.0333, 0.0111, 0.0037, 0.0012]
    """
    return LEVEL * SPENT * (1.0 - SPENT) ** place


def plan_looks(comparisons: int) -> tuple[int, ...]:
    """Return the numbers of pairs at which to look.

    At the first look, a figure can be decided even if no other one changes with it.

    Parameters
    ----------
    comparisons
        Number of figures of all arms together.

    Examples
    --------
    >>> plan_looks(1), plan_looks(4)
    ((6, 12, 24), (8, 16, 32))
    """
    first = least_pairs(comparisons, error_of_look(0))
    return tuple(first * 2**place for place in range(LOOKS))
