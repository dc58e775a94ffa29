"""Mixtures of lognormals by expectation maximisation, each started from the mixture with one fewer.

A new component is tried in many positions, above all in the tail. Started from the body alone, expectation
maximisation splits the body in two and never finds a component of 0.1 % (research note, section 2.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from hindmost.commands.clone.fit.bins import BinnedSamples, Floats
from hindmost.commands.clone.fit.laws.families import Lognormal, Mixture, Pareto

LEAST_SIGMA = 5e-4
"""Smallest sigma: narrower components come from repeated readings of a coarse clock."""

LEAST_COUNT = 5.0
"""Fewest samples of a component."""

SEGMENTS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 0.997, 0.999, 0.9997, 0.9999, 1.0)
"""Sample shares between which a new component is tried."""


def likelihood(binned: BinnedSamples, mixture: Mixture) -> float:
    """Return the mean log density per sample."""
    return float(binned.count @ mixture.log_density(binned.x)) / binned.n


def improve(binned: BinnedSamples, start: Mixture, rounds: int = 400, tolerance: float = 1e-7) -> Mixture:
    """Improve a mixture of lognormals and Pareto tails (with fixed ends) by expectation maximisation.

    Stops when a round gains less than `tolerance` per sample.
    """
    least = max(LEAST_SIGMA, binned.width)
    mixture, before = start, -math.inf
    for _ in range(rounds):
        parts = mixture.parts(binned.x)
        top = parts.max(axis=0)
        weights = np.exp(parts - top)
        total = weights.sum(axis=0)
        now = float(binned.count @ (top + np.log(total))) / binned.n
        if now - before < tolerance:
            break
        before = now
        weights *= binned.count / total
        counts = weights.sum(axis=1)
        if counts.min() < LEAST_COUNT and counts.size > 1:
            return _without(mixture, int(counts.argmin()))
        laws = tuple(
            _maximise(law, w, n, binned, least)
            for law, w, n in zip(mixture.laws, weights, counts, strict=True)
        )
        mixture = Mixture(tuple(counts / counts.sum()), laws)
    return mixture


def _maximise(
    law: object, weights: Floats, n: float, binned: BinnedSamples, least: float
) -> Lognormal | Pareto:
    mean = float(weights @ binned.x) / n
    if isinstance(law, Pareto):
        # The law is truncated at the largest sample: mass above it is counted there.
        return Pareto(law.low, max(1.05, 1.0 / max(mean - law.low, 1e-9)), law.high)
    variance = float(weights @ binned.square) / n - mean * mean
    return Lognormal(mean, math.sqrt(max(variance, least * least)))


def _without(mixture: Mixture, place: int) -> Mixture:
    kept = [i for i in range(len(mixture.laws)) if i != place]
    total = sum(mixture.weights[i] for i in kept)
    return Mixture(tuple(mixture.weights[i] / total for i in kept), tuple(mixture.laws[i] for i in kept))


def fit_lognormal(binned: BinnedSamples) -> Mixture:
    """Fit one lognormal by the mean and standard deviation of the logarithms."""
    _, mean, sigma = binned.segment(-1.0, 2.0)
    return Mixture((1.0,), (Lognormal(mean, max(sigma, LEAST_SIGMA, binned.width)),))


def add_lognormal(binned: BinnedSamples, mixture: Mixture) -> Mixture:
    """Add the best further lognormal: tried in every segment; the best three are fully fitted."""
    tried = []
    for low, high in start_segments(binned):
        n, mean, sigma = binned.segment(low, high)
        if n < LEAST_COUNT:
            continue
        weight = n / binned.n * (1.0 - 1e-6)
        weights = (*(w * (1.0 - weight) for w in mixture.weights), weight)
        new = Lognormal(mean, max(sigma, LEAST_SIGMA, binned.width))
        start = improve(binned, Mixture(weights, (*mixture.laws, new)), rounds=8)
        tried.append((likelihood(binned, start), start))
    best = sorted(tried, key=lambda one: -one[0])[:3]
    ended = [improve(binned, start) for _, start in best]
    return sort_components(max(ended, key=lambda one: likelihood(binned, one), default=mixture))


def start_segments(binned: BinnedSamples) -> Sequence[tuple[float, float]]:
    """Return segments for a new component: fixed shares, and beyond the widest gaps of the tail."""
    fixed = list(pairwise(SEGMENTS))
    tail = np.flatnonzero(binned.share > 0.9)
    if tail.size < 3:
        return fixed
    gaps = np.diff(binned.x[tail])
    widest = np.argsort(gaps)[-3:]
    cuts = [float(binned.share[tail[g + 1]]) - 1e-12 for g in widest]
    return [*fixed, *((cut, 1.0) for cut in cuts)]


def sort_components(mixture: Mixture) -> Mixture:
    """Sort components by mean."""
    pairs = sorted(zip(mixture.weights, mixture.laws, strict=True), key=lambda pair: pair[1].mean)
    return Mixture(tuple(w for w, _ in pairs), tuple(law for _, law in pairs))


def fit_lognormals(binned: BinnedSamples, most: int = 4) -> list[Mixture]:
    """Fit mixtures of 1 to `most` lognormals, fewer if a further one gets no samples."""
    found = [fit_lognormal(binned)]
    while len(found) < most:
        more = add_lognormal(binned, found[-1])
        if len(more.laws) <= len(found):
            break
        found.append(more)
    return found
