"""Switch-back experiments: a suspect is removed and restored repeatedly, in random order within each pair.

::

    pair 1   with | without    log ratio of the percentile, with / without: one number per pair.
    pair 2   without | with    If the suspect had no effect, each sign would be a coin toss.
    pair 3   without | with

A single before-and-after comparison proves nothing on a shared host: it once "showed" a neighbour that
improves latency.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from hindmost.stats.tables import t_quantile

MOST_EXACT = 14
"""Pairs up to which all choices of signs are enumerated (16,384)."""
DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of removing a suspect, as a log ratio: positive if latency is higher with the suspect.

    Attributes
    ----------
    log : float
        Mean over pairs.
    error : float
        Its standard error; infinite with one pair.
    spread : float
        Standard deviation over pairs.
    pairs : int
    p : float
        One-sided sign-flip test that the suspect raises latency.
    """

    log: float
    error: float
    spread: float
    pairs: int
    p: float

    def bound(self, level: float) -> float:
        """Return the one-sided bound of the log ratio at `level`: lower below 0.5, upper above."""
        if self.pairs < 2:
            return math.inf if level > 0.5 else -math.inf
        return self.log + t_quantile(self.pairs - 1, level) * self.error


def sign_flip_p(differences: NDArray[np.float64], seed: int = 1) -> float:
    """Return the p-value of the mean under random signs of the differences.

    It is exact for up to 14 pairs, and drawn for more.

    Examples
    --------
    >>> sign_flip_p(np.array([1.0, 2.0, 3.0, 4.0]))
    0.0625
    """
    n = len(differences)
    if n <= MOST_EXACT:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        sums = signs @ differences
        return float(np.mean(sums >= differences.sum() - 1e-12))
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), (DRAWS, n))
    return float((1 + np.sum(signs @ differences >= differences.sum() - 1e-12)) / (DRAWS + 1))


def effect_of(there: NDArray[np.float64], gone: NDArray[np.float64]) -> Effect:
    """Estimate the effect over pairs.

    Parameters
    ----------
    there, gone : array, shape (pairs,)
        The percentile of each window with and without the suspect, in one unit.

    Examples
    --------
    >>> found = effect_of(np.array([2.0, 2.2, 1.9, 2.1]), np.array([1.0, 1.0, 1.1, 0.9]))
    >>> round(float(np.exp(found.log)), 2), found.p
    (2.05, 0.0625)
    """
    logs = np.log(there) - np.log(gone)
    n = len(logs)
    spread = float(logs.std(ddof=1)) if n > 1 else math.inf
    return Effect(float(logs.mean()), spread / math.sqrt(n), spread, n, sign_flip_p(logs))


def pairs_needed(spread: float, log_ratio: float, alpha: float = 0.02, power: float = 0.9) -> int:
    """Return the pairs that detect a log ratio: normal approximation, plus two for Student's t.

    Examples
    --------
    >>> pairs_needed(0.8, 0.4054651)
    46
    """
    normal = NormalDist()
    need = ((normal.inv_cdf(1 - alpha) + normal.inv_cdf(power)) * spread / max(abs(log_ratio), 1e-6)) ** 2
    return math.ceil(min(need, 1e6)) + 2
