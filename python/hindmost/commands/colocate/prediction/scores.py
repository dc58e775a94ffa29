"""Errors of predictions, and how often measurements lay within their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hindmost.commands.colocate.documents.profiles import Score

if TYPE_CHECKING:
    from hindmost.commands.colocate.documents.profiles import JobEffect, PredictedLoss, Share


def scores(ran: Sequence[JobEffect]) -> list[Score]:
    """Score each model over all jobs.

    Parameters
    ----------
    ran : sequence of JobEffect

    Returns
    -------
    list of Score
        Mean absolute errors of logarithms of growth. Of the p99 for which prediction and measurement have
        intervals: how many agree, that is, differ by at most the root of the sum of squares of the two
        half-widths.
    """
    found: list[Score] = []
    for model in dict.fromkeys(guess.model for one in ran for guess in one.predicted):
        pairs = [(one.latency, guess) for one in ran for guess in one.predicted if guess.model == model]
        covered = [one for latency, guess in pairs if (one := _covers(guess, latency.p99)) is not None]
        found.append(
            Score(
                model=model,
                p50=_off([(latency.p50, guess.p50) for latency, guess in pairs]),
                p99=_off([(latency.p99, guess.p99) for latency, guess in pairs]),
                covered=sum(covered),
                told=len(covered),
            )
        )
    return found


def _off(pairs: Sequence[tuple[Share | None, float | None]]) -> float | None:
    errors = [
        abs(math.log1p(guess) - math.log1p(real.value))
        for real, guess in pairs
        if real is not None and guess is not None
    ]
    return float(np.mean(errors)) if errors else None


def _covers(guess: PredictedLoss, real: Share | None) -> bool | None:
    if real is None or guess.p99 is None or guess.p99_low is None or guess.p99_high is None:
        return None
    value, low, high = (math.log1p(one) for one in (guess.p99, guess.p99_low, guess.p99_high))
    measured = real.map(math.log1p)
    # The half-widths on the sides that face each other.
    below = math.hypot(value - low, measured.high - measured.value)
    above = math.hypot(high - value, measured.value - measured.low)
    return -below <= measured.value - value <= above
