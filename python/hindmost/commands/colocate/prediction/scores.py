"""Errors of predictions, and how often measurements lay within their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hindmost.commands.colocate.documents.profiles import JobEffect, Score


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
    models = dict.fromkeys(guess["model"] for one in ran for guess in one["predicted"])
    for model in models:
        pairs = [
            (one["latency"], guess) for one in ran for guess in one["predicted"] if guess["model"] == model
        ]
        covered = [one for latency, guess in pairs if (one := _covers(guess, latency["p99"])) is not None]
        found.append(
            {
                "model": model,
                "p50": _off([(latency["p50"], guess["p50"]) for latency, guess in pairs]),
                "p99": _off([(latency["p99"], guess["p99"]) for latency, guess in pairs]),
                "covered": sum(covered),
                "told": len(covered),
            }
        )
    return found


def _off(pairs: Sequence[tuple[Any, float | None]]) -> float | None:
    errors = [
        abs(math.log1p(guess) - math.log1p(real["value"]))
        for real, guess in pairs
        if real is not None and guess is not None
    ]
    return float(np.mean(errors)) if errors else None


def _covers(guess: Mapping[str, Any], real: Mapping[str, Any] | None) -> bool | None:
    parts = (guess["p99"], guess["p99_low"], guess["p99_high"])
    if real is None or None in parts:
        return None
    value, low, high = (math.log1p(one) for one in parts)
    mine, lowest, highest = (math.log1p(real[key]) for key in ("value", "low", "high"))
    # The half-widths on the sides that face each other.
    below, above = math.hypot(value - low, highest - mine), math.hypot(high - value, mine - lowest)
    return -below <= mine - value <= above
