"""Losses from windows, computed within rounds, which cancels host drifts slower than a round."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from hindmost.commands.colocate.documents.profiles import Growth, LoadedServer, Share
from hindmost.commands.colocate.server import ProbeResult, ServerUnderLoad
from hindmost.commands.colocate.windows import WindowResult
from hindmost.stats.runs.intervals import mean_interval

LEAST_ROUNDS = 4
_FEW = 8
"""Constant that widens the outlier limit for few windows: the deviation of four windows is often small by
chance. With it, 95 % intervals of four or five normal draws cover the truth in 95 % of cases; without it, in
89 to 90 %."""


def shares_lost(
    rounds: Sequence[Sequence[WindowResult]], stressor: str, rate: str, base: tuple[str, bool]
) -> Share | None:
    """Estimate what a program, or a stressor next to it, loses relative to the base; None with few rounds.

    Parameters
    ----------
    rounds : sequence of sequence of WindowResult
        Windows by round.
    rate : str
        Which rate of `WindowResult` to use: ``program`` or ``of_stressor``.
    base : tuple of str and bool
        The stressor of the base, and whether the program runs too.
    """
    lost = []
    for windows in rounds:
        by = {(one.stressor, one.with_program): getattr(one, rate) for one in windows if one.is_usable}
        mine, alone = by.get((stressor, True)), by.get(base)
        if mine and alone:
            lost.append(1 - mine / alone)
    return _middle(lost)


def _middle(values: Sequence[float]) -> Share | None:
    """Return the mean, with its interval, of the values near the median; None with few values."""
    if len(values) < LEAST_ROUNDS - 1:
        return None
    # A window that lost a CPU unnoticed is off by tens of percent, which the median ignores.
    middle = statistics.median(values)
    deviation = 1.4826 * statistics.median(abs(one - middle) for one in values)
    far = 3 * (1 + _FEW / len(values)) * deviation
    near = [one for one in values if abs(one - middle) <= max(far, 1e-9)]
    mean = mean_interval(near)
    return Share(value=mean.value, low=mean.low, high=mean.high, windows=len(near))


def growth(rounds: Sequence[Sequence[WindowResult]], stressor: str, base: str) -> Growth:
    """Estimate the growth of a server's percentiles as the mean log ratio within rounds."""
    return Growth(
        p50=_growth_of(rounds, stressor, base, lambda one: one.p50_us),
        p99=_growth_of(rounds, stressor, base, lambda one: one.p99_us),
    )


def _growth_of(
    rounds: Sequence[Sequence[WindowResult]], stressor: str, base: str, which: Callable[[ProbeResult], float]
) -> Share | None:
    ratios = []
    for windows in rounds:
        by = {
            one.stressor: which(one.probe_result)
            for one in windows
            if one.is_usable and one.probe_result is not None
        }
        mine, alone = by.get(stressor, math.inf), by.get(base, math.inf)
        # A percentile is infinite if more requests failed than lie beyond it.
        if math.isfinite(mine) and math.isfinite(alone):
            ratios.append(math.log(mine / alone))
    middle = _middle(ratios)
    return None if middle is None else middle.map(math.expm1)


def summarize_load(
    rounds: Sequence[Sequence[WindowResult]], subject: ServerUnderLoad, window_ms: float
) -> LoadedServer:
    """Summarise the probe's results: its requests, and medians next to the inert stressor."""
    asked = [one.probe_result for windows in rounds for one in windows if one.probe_result is not None]
    inert = [
        one.probe_result
        for windows in rounds
        for one in windows
        if one.is_usable and one.stressor == "null" and one.probe_result is not None
    ]
    return LoadedServer(
        address=subject.address,
        requested_per_s=subject.rate,
        requests=sum(one.requests for one in asked),
        failed=sum(one.failed for one in asked),
        busy=statistics.median(one.busy for one in inert),
        load=statistics.median(sum(one.service_us) for one in inert) / (window_ms * 1e3),
        p50_us=statistics.median(one.p50_us for one in inert),
        p99_us=statistics.median(one.p99_us for one in inert),
        presence=growth(rounds, "null", "alone"),
    )
