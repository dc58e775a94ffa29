"""From windows to what is lost: within rounds, so that drifts of the host that are slower than a round go."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hindmost.stats.runs.intervals import mean_interval
from hindmost.studies.colocation.served import Asked, Served
from hindmost.studies.colocation.windows import Seen

if TYPE_CHECKING:
    from hindmost.stats.estimate import Estimate
    from hindmost.store.colocation import Growth, Loaded, Share

LEAST_ROUNDS = 4
_FEW = 8
"""So many windows count as far off only at twice three deviations: those of four windows are small by chance
so often that intervals of 95 % held the truth in 89 to 90 % of normal draws of four or five; now in 95 %."""


def shares_lost(seen: Sequence[Sequence[Seen]], ruler: str, of: str, base: tuple[str, bool]) -> Share | None:
    """What a program, or a stressor next to it, loses against the base; None where too few rounds tell.

    Parameters
    ----------
    seen : sequence of sequence of Seen
        Windows by round.
    of : str
        Which rate of `Seen`: ``program`` or ``of_ruler``.
    base : tuple of str and bool
        Next to what, and whether with the program.
    """
    lost = []
    for windows in seen:
        by = {(one.ruler, one.with_program): getattr(one, of) for one in windows if one.kept}
        mine, alone = by.get((ruler, True)), by.get(base)
        if mine and alone:
            lost.append(1 - mine / alone)
    if (found := _middle(lost)) is None:
        return None
    estimate, near = found
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "windows": near}


def _middle(values: Sequence[float]) -> tuple[Estimate, int] | None:
    """Mean with interval of those near the median, and how many they are."""
    if len(values) < LEAST_ROUNDS - 1:
        return None
    # A window that lost a processor unseen is off by tens of percents: the median does not follow it.
    middle = statistics.median(values)
    deviation = 1.4826 * statistics.median(abs(one - middle) for one in values)
    far = 3 * (1 + _FEW / len(values)) * deviation
    near = [one for one in values if abs(one - middle) <= max(far, 1e-9)]
    return mean_interval(near), len(near)


def growth(seen: Sequence[Sequence[Seen]], ruler: str, base: str) -> Growth:
    """By what share percentiles of a server grow, within rounds, as the mean of logarithms of ratios."""
    return {
        "p50": _grown(seen, ruler, base, lambda one: one.p50_us),
        "p99": _grown(seen, ruler, base, lambda one: one.p99_us),
    }


def _grown(
    seen: Sequence[Sequence[Seen]], ruler: str, base: str, which: Callable[[Asked], float]
) -> Share | None:
    ratios = []
    for windows in seen:
        by = {one.ruler: which(one.asked) for one in windows if one.kept and one.asked is not None}
        mine, alone = by.get(ruler, math.inf), by.get(base, math.inf)
        # Infinite where more requests failed than the percentile leaves.
        if math.isfinite(mine) and math.isfinite(alone):
            ratios.append(math.log(mine / alone))
    if (found := _middle(ratios)) is None:
        return None
    estimate, near = found
    value, low, high = (math.expm1(one) for one in (estimate.value, estimate.low, estimate.high))
    return {"value": value, "low": low, "high": high, "windows": near}


def loaded(seen: Sequence[Sequence[Seen]], subject: Served, window_ms: float) -> Loaded:
    """What the probe saw: its requests, and medians next to the inert stressor."""
    asked = [one.asked for windows in seen for one in windows if one.asked is not None]
    inert = [
        one.asked
        for windows in seen
        for one in windows
        if one.kept and one.ruler == "null" and one.asked is not None
    ]
    return {
        "address": subject.address,
        "asked_per_s": subject.rate,
        "requests": sum(one.requests for one in asked),
        "failed": sum(one.failed for one in asked),
        "busy": statistics.median(one.busy for one in inert),
        "load": statistics.median(sum(one.service_us) for one in inert) / (window_ms * 1e3),
        "p50_us": statistics.median(one.p50_us for one in inert),
        "p99_us": statistics.median(one.p99_us for one in inert),
        "presence": growth(seen, "null", "alone"),
    }
