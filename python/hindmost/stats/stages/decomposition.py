"""Decomposition of the variance of latency: the covariance of each stage with the whole.

Latency is the sum of its stages, so its variance is the sum of all their covariances, and ``Cov(stage,
latency)`` adds up to it exactly: the share of a stage. A stage with a large mean may contribute nothing
(Suresh and Gandhi, *Using Variability as a Guiding Principle to Reduce Latency in Web Applications via OS
Profiling*, WWW 2019, section 3). Neighbouring requests wait for each other, so intervals come from resampling
blocks of time instead of requests (Künsch, *The jackknife and the bootstrap for general stationary
observations*, 1989).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.stats.estimate import Estimate
from hindmost.stats.stages.moments import LATENCY, STAGES, VARIABLES, Moments, Reals, moments_of

DRAWS = 1000
LEAST_BLOCKS = 20
"""Fewest blocks for a bootstrap interval at 95 %. With fewer it would be far too short."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage, or the latency as a whole (``name`` is ``latency``).

    Attributes
    ----------
    mean_us : Estimate
    variance_us2 : Estimate
    c2 : Estimate or None
        Squared coefficient of variation; None if the mean is zero.
    share : Estimate or None
        ``Cov(stage, latency) / Var(latency)``, which adds up to 1 over all stages. None if nothing varies.
    share_of_mean : float
    """

    name: str
    mean_us: Estimate
    variance_us2: Estimate
    c2: Estimate | None
    share: Estimate | None
    share_of_mean: float


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Contributions of the stages to mean and variance of latency.

    Attributes
    ----------
    requests : int
    latency : Stage
    stages : tuple of Stage
        In the order of a request's path.
    covariance_us2 : ndarray of shape (5, 5)
        Covariance of the stages.
    batch_mean, batch_variance : float
        Number of requests that the server found in one read, weighted by request.
    batch_correlation : ndarray of shape (5,)
        Correlation of each stage with the batch size; NaN if either does not vary.
    closure : float
        ``|sum of all covariances - Var(latency)| / Var(latency)``. The latency is summed separately, so this
        is a check. NaN if nothing varies.
    blocks : int
        Number of blocks behind the intervals.
    """

    requests: int
    latency: Stage
    stages: tuple[Stage, ...]
    covariance_us2: Reals
    batch_mean: float
    batch_variance: float
    batch_correlation: Reals
    closure: float
    blocks: int

    @property
    def by_variance(self) -> Stage:
        """The stage with the largest share of the variance: the critical one."""
        return max(self.stages, key=lambda stage: -math.inf if stage.share is None else stage.share.value)

    @property
    def by_mean(self) -> Stage:
        """The stage with the largest mean."""
        return max(self.stages, key=lambda stage: stage.mean_us.value)


def decompose(
    blocks: Sequence[Mapping[str, Any]], kinds: Sequence[str] | None = None, *, seed: int = 1
) -> Decomposition | None:
    """Split the variance of latency into stages. Return None without requests.

    Parameters
    ----------
    blocks : sequence of dict
        From the engine's ``Trace``.
    kinds : sequence of str, optional
        Only requests of these kinds.
    seed : int
        Random seed of the bootstrap.

    Examples
    --------
    >>> mean = [1e3, 4e3, 0.0, 2e3, 1e3, 1.0]
    >>> products = [0.0] * 21
    >>> products[6], products[15] = 9e6, 1e6  # of the second and of the fourth stage with themselves
    >>> block = {"kinds": [{"kind": "get", "n": 10, "mean_ns": mean, "products": products,
    ...                     "latency_ns": 8e3, "latency_square": 1e7}]}
    >>> found = decompose([block])
    >>> [round(stage.share.value, 3) for stage in found.stages]
    [0.0, 0.9, 0.0, 0.1, 0.0]
    >>> found.by_variance.name, found.closure
    ('tcp_to_read', 0.0)
    """
    moments = moments_of(blocks, kinds)
    if moments is None:
        return None
    count = len(moments.n)
    figures = _figures(moments, np.ones((1, count)))
    draws = None
    if count >= LEAST_BLOCKS:
        generator = np.random.default_rng(seed)
        draws = _figures(
            moments, generator.multinomial(count, np.full(count, 1 / count), DRAWS).astype(float)
        )
    rows = [_stage(at, figures, draws, moments.requests) for at in (*range(len(STAGES)), len(STAGES))]
    covariance = figures.covariance[0]
    stages = covariance[: len(STAGES), : len(STAGES)]
    spread = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance[: len(STAGES), -1] / (spread[: len(STAGES)] * spread[-1])
    variance = figures.latency[0]
    return Decomposition(
        requests=moments.requests,
        latency=rows[-1],
        stages=tuple(rows[:-1]),
        covariance_us2=stages / 1e6,
        batch_mean=float(figures.mean[0, VARIABLES - 1]),
        batch_variance=float(covariance[-1, -1]),
        batch_correlation=correlation,
        closure=float(abs(stages.sum() - variance) / variance) if variance > 0 else math.nan,
        blocks=count,
    )


@dataclass(frozen=True, slots=True)
class _Figures:
    """Figures in ns, one row per draw."""

    mean: Reals
    covariance: Reals
    latency: Reals

    def column(self, at: int) -> tuple[Reals, Reals, Reals, float]:
        """Return mean, variance and covariance with the whole, of a stage or of the latency itself."""
        whole = self.covariance[:, : len(STAGES), : len(STAGES)].sum(axis=(1, 2))
        if at == len(STAGES):
            return self.mean[:, LATENCY], self.latency, whole, 1.0
        own = self.covariance[:, at, at]
        shared = self.covariance[:, at, : len(STAGES)].sum(axis=1)
        mean = self.mean[:, at]
        return mean, own, shared, float(mean[0] / self.mean[0, LATENCY]) if self.mean[0, LATENCY] else 0.0


def _figures(moments: Moments, weights: Reals) -> _Figures:
    return _Figures(*moments.weighted(weights))


def _stage(at: int, figures: _Figures, draws: _Figures | None, requests: int) -> Stage:
    mean, variance, shared, share_of_mean = figures.column(at)
    drawn = None if draws is None else draws.column(at)
    whole = figures.column(len(STAGES))[2]

    def estimate(value: float, of: Reals | None) -> Estimate:
        low = high = math.nan
        if of is not None and np.isfinite(of).all():
            tail = (1 - CONFIDENCE) / 2
            low, high = (float(end) for end in np.quantile(of, [tail, 1 - tail]))
            low, high = min(low, value), max(high, value)
        return Estimate(value, low, high, n=requests, confidence=CONFIDENCE)

    def ratio(top: Reals, bottom: Reals, draw: tuple[Reals, Reals] | None) -> Estimate | None:
        if not bottom[0] > 0:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            return estimate(float(top[0] / bottom[0]), None if draw is None else draw[0] / draw[1])

    whole_drawn = None if draws is None else draws.column(len(STAGES))[2]
    return Stage(
        name=STAGES[at] if at < len(STAGES) else "latency",
        mean_us=estimate(float(mean[0] / 1e3), None if drawn is None else drawn[0] / 1e3),
        variance_us2=estimate(
            float(max(variance[0], 0.0) / 1e6), None if drawn is None else np.maximum(drawn[1], 0.0) / 1e6
        ),
        c2=ratio(variance, mean**2, None if drawn is None else (drawn[1], drawn[0] ** 2)),
        share=ratio(shared, whole, None if drawn is None or whole_drawn is None else (drawn[2], whole_drawn)),
        share_of_mean=share_of_mean,
    )
