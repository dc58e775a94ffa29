"""Samples on a logarithmic axis, in bins: a million of them cost as much to fit as a few thousand.

A bin keeps its count and the mean and the mean square of the logarithms in it, so that sums over bins are the
sums over samples wherever a weight hardly changes within a bin. Against expectation maximisation over all
samples the parameters differ by less than 0.1 % at 4,096 bins (``tests/unit/test_fit_mixture.py`` measures
it).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BINS = 4_096


@dataclass(frozen=True)
class Binned:
    """Counts of samples by bins that are equally wide in the logarithm; empty bins are left out.

    Parameters
    ----------
    count : array of shape (m,)
        Samples in each bin; any weight, not only whole numbers.
    x : array of shape (m,)
        Mean of the logarithm (of microseconds) in each bin; rising.
    square : array of shape (m,)
        Mean of its square.
    width : float
        Width of a bin in the logarithm.
    """

    count: Floats
    x: Floats
    square: Floats
    width: float

    @cached_property
    def n(self) -> float:
        """Samples in all."""
        return float(self.count.sum())

    @cached_property
    def share(self) -> Floats:
        """Share of the samples up to the middle of each bin."""
        return np.asarray((np.cumsum(self.count) - 0.5 * self.count) / self.n)

    def part(self, count: Floats) -> Binned:
        """The same bins with other counts."""
        return Binned(count, self.x, self.square, self.width)

    def segment(self, low: float, high: float) -> tuple[float, float, float]:
        """Count, mean and standard deviation of the logarithms between two shares of all samples."""
        inside = (self.share >= low) & (self.share < high)
        count = self.count[inside]
        n = float(count.sum())
        if n <= 0:
            return 0.0, 0.0, 0.0
        mean = float(count @ self.x[inside]) / n
        return n, mean, float(np.sqrt(max(0.0, float(count @ self.square[inside]) / n - mean * mean)))


@dataclass(frozen=True)
class Grid:
    """Bins over all samples, and which bin each sample fell into."""

    binned: Binned
    place: Ints

    @classmethod
    def of(cls, log_us: Floats, bins: int = BINS) -> Grid:
        """Bins from the least to the greatest of the logarithms."""
        low, high = float(log_us.min()), float(log_us.max())
        width = max((high - low) / bins, 1e-12)
        raw = np.minimum(((log_us - low) / width).astype(np.int64), bins - 1)
        count = np.bincount(raw, minlength=bins)
        used = np.flatnonzero(count)
        n = count[used].astype(np.float64)
        x = np.bincount(raw, weights=log_us, minlength=bins)[used] / n
        square = np.bincount(raw, weights=log_us * log_us, minlength=bins)[used] / n
        names = np.zeros(bins, dtype=np.int64)
        names[used] = np.arange(used.size)
        return cls(Binned(n, x, square, width), names[raw])

    def counts(self, label: Ints, labels: int) -> Floats:
        """Counts by label and bin, shape ``(labels, m)``."""
        m = self.binned.x.size
        flat = np.bincount(label * m + self.place, minlength=labels * m)
        return flat.reshape(labels, m).astype(np.float64)
