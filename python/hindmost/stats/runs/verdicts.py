"""Verdict of an interval in one word, and the number of runs that would decide it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np

from hindmost.stats.tables import t_quantile

Verdict = Literal["raises", "lowers", "negligible", "undecided"]

POWER = 0.8
"""Probability that the estimated number of runs decides, if the effect is as large as it appears."""
_BEYOND = 0.8416  # normal quantile of POWER: distance beyond the interval's end, in errors
_TOO_MANY = 10_000


class Interval(Protocol):
    """An object with a value and its interval, in one unit."""

    @property
    def value(self) -> float: ...  # noqa: D102
    @property
    def low(self) -> float: ...  # noqa: D102
    @property
    def high(self) -> float: ...  # noqa: D102


def decide(effect: Interval, delta: float) -> Verdict:
    """Decide the direction of an effect.

    Parameters
    ----------
    effect
        Value and interval.
    delta
        Smallest effect that matters, at least 0, in the same unit. An interval entirely within it is
        *negligible*, even if it excludes 0.

    Examples
    --------
    >>> from hindmost.stats import Estimate
    >>> [decide(Estimate(v, v - 2, v + 2, 10), delta=3.5) for v in (5.0, -9.0, 1.0, 1.8)]
    ['raises', 'lowers', 'negligible', 'undecided']
    """
    if not delta >= 0.0:
        raise ValueError(f"the smallest effect that matters cannot be {delta}")
    if -delta < effect.low and effect.high < delta:
        return "negligible"
    if effect.low > 0.0:
        return "raises"
    if effect.high < 0.0:
        return "lowers"
    return "undecided"


def more_runs(effect: Interval, delta: float, runs: int) -> int | None:
    """Estimate how many more runs of every cell would decide an effect that is as large as it appears.

    It takes the easier of two: to show that the effect is not 0, or that it is within `delta`. Half-widths
    shrink with the square root of the number of runs; the probability to decide is then `POWER`.

    Parameters
    ----------
    effect
        Value and interval.
    delta
        Smallest effect that matters, same unit.
    runs
        Runs of each cell so far.

    Returns
    -------
    int or None
        0 if decided; None if no feasible number suffices (more than 10,000), or nothing is known.

    Examples
    --------
    >>> from hindmost.stats import Estimate
    >>> more_runs(Estimate(2.5, 0.5, 4.5, 10), 4.0, 10), more_runs(Estimate(2.5, -0.5, 5.5, 10), 4.0, 10)
    (0, 20)
    """
    if decide(effect, delta) != "undecided":
        return 0
    half = (effect.high - effect.low) / 2.0
    wanted = max(abs(effect.value), delta - abs(effect.value))
    if not (math.isfinite(half) and wanted > 0.0 and runs > 0):
        return None
    needed = runs * (half * (1.0 + _BEYOND / 1.96) / wanted) ** 2
    return max(1, math.ceil(needed) - runs) if needed < _TOO_MANY else None


def runs_needed(
    scatter: float, smallest: float, weights: Sequence[float], confidence: float = 0.95
) -> int | None:
    """Return the runs per cell that show an effect of a given size with probability `POWER`, before any run.

    Parameters
    ----------
    scatter
        Standard deviation of runs of one cell.
    smallest
        Effect to detect, same unit.
    weights
        Weights of the cells that the effect compares: ``[-1, 1]`` for one factor while all others are low.
    confidence
        Confidence of the interval that must exclude 0.

    Returns
    -------
    int or None
        None for more than 10,000.

    Examples
    --------
    >>> corner, average = [-1, 1], [-1 / 8] * 8 + [1 / 8] * 8  # of four factors with two levels
    >>> runs_needed(5.0, 5.0, corner), runs_needed(5.0, 5.0, average)  # an effect as large as the scatter
    (17, 3)
    """
    squares = np.asarray(weights, dtype=np.float64) ** 2
    if not (scatter >= 0.0 and smallest > 0.0 and squares.sum() > 0.0):
        raise ValueError(f"no number of runs shows {smallest} at a scatter of {scatter}")
    cells = float(squares.sum() ** 2 / (squares**2).sum())
    error = scatter * math.sqrt(float(squares.sum()))
    for runs in range(2, _TOO_MANY):
        t = t_quantile((runs - 1) * cells, 0.5 + confidence / 2.0)
        if smallest * math.sqrt(runs) >= (t + _BEYOND) * error:
            return runs
    return None
