"""Two alternating levels of service times: detected from block means, with intervals, and simulated."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.laws.families import round_digits

REGIME_BLOCKS = (20, 50, 100, 200, 500, 1_000)
"""Block sizes (requests) over which service times are averaged to detect regimes."""

LEAST_STAYS = 6
"""Fewest changes of regime for estimating their lengths."""


@dataclass(frozen=True)
class Regimes:
    """Two levels of the service times, and their durations.

    ``inner`` marks requests in blocks between blocks of the same level. A block in which the level changes
    belongs to neither level and would bring the two closer.
    """

    factors: tuple[float, float]
    stays: tuple[float, float]
    state: np.ndarray[tuple[int], np.dtype[np.int64]] = field(repr=False)
    inner: np.ndarray[tuple[int], np.dtype[np.bool_]] = field(repr=False)

    @property
    def factor(self) -> Floats:
        """Factor of each request."""
        return np.asarray(self.factors)[self.state]

    def intervals(self, us: Floats) -> dict[str, tuple[float, float]]:
        """Return 95 % intervals of the regimes' parameters in a document.

        Lengths are geometric, so a sum of m stays divided by their mean is half a chi-squared variable with
        2 m degrees of freedom. The ratio of the levels was observed in stays, not in single requests. Stays
        shorter than a block are missed, so intervals of lengths near that size are slightly too high.

        Parameters
        ----------
        us : array of shape (n,)
            The times in which they were found.
        """
        begins = np.flatnonzero(np.diff(self.state, prepend=-1))
        length = np.add.reduceat(self.inner.astype(np.int64), begins)
        mean = np.add.reduceat(us * self.inner, begins) / np.maximum(length, 1)
        regime = self.state[begins]
        found, variance, free = {}, 0.0, math.inf
        for number, stay in enumerate(self.stays):
            own = regime == number
            m = int(own.sum())
            low, high = (2.0 * m * stay / float(special.chdtri(2 * m, p)) for p in (0.025, 0.975))
            found[f"order.regimes[{number}].mean_requests"] = (low, high)
            level = float(us[self.inner & (self.state == number)].mean())
            off = length[own] * (mean[own] / level - 1.0) / length[own].sum()
            variance += float(off @ off) * m / max(m - 1, 1)
            free = min(free, max(m - 1.0, 1.0))
        reach = float(special.stdtrit(free, 0.975)) * math.sqrt(variance)
        factor = self.factors[1]
        found["order.regimes[1].factor"] = (factor * math.exp(-reach), factor * math.exp(reach))
        return {name: (round_digits(low), round_digits(high)) for name, (low, high) in found.items()}


def find_regimes(us: Floats) -> Regimes | None:
    """Find two levels in the means of blocks of requests; None if one level explains them.

    The block size is the one for which the two levels are farthest apart, relative to the scatter within
    them.
    """
    x = np.log(us)
    spread = float(x.std())
    best: tuple[float, np.ndarray[Any, Any], int] | None = None
    for size in REGIME_BLOCKS:
        count = x.size // size
        if count < 20:
            break
        means = x[: count * size].reshape(count, size).mean(axis=1)
        low, high, cut = _two_means(means)
        inner = np.where(means > cut, means - high, means - low)
        apart = (high - low) / max(float(inner.std()), 1e-12)
        # For blocks of independent times, the two halves lie 2.65 standard deviations of the rest apart.
        chance = spread / math.sqrt(size)
        if apart > 4.0 and high - low > 4.0 * chance and (best is None or apart > best[0]):
            best = (apart, means > cut, size)
    if best is None:
        return None
    _, slow, size = best
    state = np.repeat(slow.astype(np.int64), size)
    state = np.concatenate([state, np.full(us.size - state.size, state[-1])])
    changes = int(np.count_nonzero(np.diff(state)))
    if changes < LEAST_STAYS:
        return None
    within = np.repeat(_between_alike(slow), size)
    within = np.concatenate([within, np.zeros(us.size - within.size, dtype=np.bool_)])
    for level in (0, 1):
        if not (within & (state == level)).any():
            within = within | (state == level)
    levels = [float(us[within & (state == s)].mean()) for s in (0, 1)]
    stays = [float((state == s).sum()) / ((changes + 1) / 2) for s in (0, 1)]
    return Regimes((1.0, levels[1] / levels[0]), (stays[0], stays[1]), state, within)


def _between_alike(slow: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Mark blocks whose neighbours on both sides have the same level."""
    same = slow[1:] == slow[:-1]
    return np.asarray(np.append(same, True) & np.insert(same, 0, True))


def _two_means(values: Floats) -> tuple[float, float, float]:
    """Return centres and threshold of the two least-squares clusters."""
    ordered = np.sort(values)
    n = ordered.size
    sums = np.cumsum(ordered)
    k = np.arange(1, n)
    between = sums[:-1] ** 2 / k + (sums[-1] - sums[:-1]) ** 2 / (n - k)
    at = int(np.argmax(between))
    low, high = float(sums[at] / (at + 1)), float((sums[-1] - sums[at]) / (n - at - 1))
    return low, high, float(ordered[at] + ordered[at + 1]) / 2.0


def draw_factors(regimes: Regimes, n: int, draws: np.random.Generator) -> Floats:
    """Draw the factors of n requests in regimes of geometric length."""
    lengths: list[int] = []
    state = int(draws.random() < regimes.stays[1] / sum(regimes.stays))
    states = []
    while sum(lengths) < n:
        lengths.append(int(draws.geometric(1.0 / regimes.stays[state])))
        states.append(state)
        state = 1 - state
    return np.repeat(np.asarray(regimes.factors)[states], lengths)[:n]
