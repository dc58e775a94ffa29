"""Comparison of the observed gaps between sends with the requested distribution.

With a hundred thousand gaps, a test rejects irrelevant differences. So the *distance* decides, and tests
accompany it: Kolmogorov's distance with the interval guaranteed by Dvoretzky, Kiefer and Wolfowitz (1956;
constant by Massart, 1990), Anderson and Darling's statistic on a thinned sample, and the index of dispersion
of counts over several spans, which detects clumps that gaps alone do not show (load-testers notes, goals 2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Bins = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]

ANDERSON_DARLING_1 = 3.857
"""1 % critical value for a fully known distribution (Stephens, JASA 1974, Table 1.0, case 0)."""


@dataclass(frozen=True, slots=True)
class Distance:
    """Kolmogorov's distance in [0, 1] with its 95 % interval, from ``n`` gaps."""

    value: float
    low: float
    high: float
    n: int


class GapLaw(Protocol):
    """Distribution of gaps, in units of the mean gap, for example `hindmost.core.laws.Law`."""

    def below(self, x: Iterable[float]) -> Sequence[float]:
        """Return the shares of gaps below `x`."""
        ...

    def log_above(self, x: Iterable[float]) -> Sequence[float]:
        """Return the logarithms of the shares of gaps above `x`."""
        ...


def kolmogorov(bins: Bins, mean: float, law: GapLaw, confidence: float = 0.95) -> Distance:
    """Return the largest difference between the gaps' distribution and a law of that mean.

    Parameters
    ----------
    bins
        Lower edges, upper edges (inclusive) and counts, each of shape ``(bins,)``, edges in nanoseconds.
    mean
        Requested mean gap, in nanoseconds.
    law
        Requested distribution.
    confidence
        Level of the interval.

    Raises
    ------
    ValueError
        If there are no gaps.

    Examples
    --------
    >>> edges = -np.log1p(-np.arange(1000) / 1000) * 1e4  # a thousand equally likely bins
    >>> bins = (edges, np.append(edges[1:], 1e6), np.full(1000, 50.0))
    >>> from hindmost.core.laws import law
    >>> kolmogorov(bins, 1e4, law("exponential")).value < 1e-3
    True
    """
    low, high, counts = bins
    n = int(counts.sum())
    if n == 0:
        raise ValueError("no gaps to compare")
    below = np.concatenate(([0.0], np.cumsum(counts)[:-1])) / n
    upto = np.cumsum(counts) / n
    # The distribution is known only at the edges of bins. Within a bin it lies between its edges' values.
    distance = max(
        float(np.abs(below - np.array(law.below(low / mean))).max()),
        float(np.abs(upto - np.array(law.below((high + 1.0) / mean)))[:-1].max(initial=0.0)),
    )
    margin = math.sqrt(math.log(2.0 / (1.0 - confidence)) / (2.0 * n))
    return Distance(distance, max(0.0, distance - margin), min(1.0, distance + margin), n)


def distance_between(sent: Bins, scheduled: Bins) -> float:
    """Return the largest difference between two distributions from the same kind of histogram.

    Parameters
    ----------
    sent, due
        As in `kolmogorov`; empty bins are left out.

    Examples
    --------
    >>> a = (np.array([0.0, 10.0]), np.array([9.0, 19.0]), np.array([50.0, 50.0]))
    >>> b = (np.array([10.0]), np.array([19.0]), np.array([100.0]))
    >>> distance_between(a, a), distance_between(a, b)
    (0.0, 0.5)
    """
    edges = np.unique(np.concatenate((sent[1], scheduled[1])))
    shares = [
        np.append(0.0, np.cumsum(counts) / counts.sum())[np.searchsorted(high, edges, side="right")]
        for _, high, counts in (sent, scheduled)
    ]
    return float(np.abs(shares[0] - shares[1]).max())


@dataclass(frozen=True, slots=True)
class Variation:
    """Squared coefficient of variation of gaps, that of their distribution, and its standard error."""

    value: float
    requested: float
    error: float


def variation(bins: Bins, mean: float, cumulants: Sequence[float], parts: int) -> Variation:
    """Return C^2 of the gaps of workers that take turns, about the requested mean, next to the requested C^2.

    Parameters
    ----------
    bins
        As in `kolmogorov`.
    mean
        Mean gap of one worker, in nanoseconds.
    cumulants
        First four cumulants of the gaps of the whole process, in mean gaps, for independent gaps.
    parts
        Number of workers that take turns. A gap of one worker is the sum of this many gaps, and cumulants
        add.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> gaps = np.sort(rng.gamma(4.0, 25.0, 10_000))  # two parts of gaps with C^2 = 1/2
    >>> found = variation((gaps, gaps, np.ones(10_000)), 100.0, (1.0, 0.5, 0.5, 0.75), 2)
    >>> found.requested, round(found.error, 4), abs(found.value - found.requested) < 3 * found.error
    (0.25, 0.0047, True)
    """
    low, high, counts = bins
    n = float(counts.sum())
    value = float((counts * ((low + high) / 2.0 / mean - 1.0) ** 2).sum()) / n
    second, fourth = cumulants[1] / parts, cumulants[3] / parts**3
    # The variance of the second moment about a known mean is the fourth moment minus the squared second.
    return Variation(value, second, math.sqrt((fourth + 2.0 * second * second) / n))


def anderson_darling(gaps: npt.ArrayLike, mean: float, law: GapLaw) -> float:
    """Return Anderson and Darling's statistic of raw gaps against a distribution of that mean.

    Compare it with `ANDERSON_DARLING_1`. Use a few thousand gaps, far enough apart to be independent.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> from hindmost.core.laws import law
    >>> anderson_darling(rng.exponential(50.0, 4096), 50.0, law("exponential")) < ANDERSON_DARLING_1
    True
    >>> anderson_darling(np.full(4096, 50.0), 50.0, law("exponential")) > 100
    True
    """
    x = np.sort(np.asarray(gaps, dtype=np.float64)) / mean
    n = x.size
    if n == 0:
        raise ValueError("no gaps to compare")
    # Replace a gap of 0 by a tiny positive one.
    log_below = np.log(law.below(np.maximum(x, 1e-12)))
    log_above = np.array(law.log_above(x))
    weights = 2.0 * np.arange(1, n + 1) - 1.0
    return float(-n - (weights * (log_below + log_above[::-1])).sum() / n)


class Spans(NamedTuple):
    """Number of spans of one length, requests in them, and the sum of the squared requests per span."""

    spans: int
    requests: int
    squares: int


def dispersion(parts: Sequence[Spans]) -> float | None:
    """Return the index of dispersion of counts: variance over mean of requests per span.

    Parameters
    ----------
    parts
        One entry per worker, spans of one length. The indices of independent workers are averaged, weighted
        by requests.

    Returns
    -------
    float or None
        1 for a Poisson process, 0 for equal gaps; None with fewer than two spans.

    Examples
    --------
    >>> dispersion([Spans(4, requests=8, squares=16)])
    0.0
    """
    found, weights = [], []
    for spans, requests, squares in parts:
        if spans < 2 or requests == 0:
            continue
        mean = requests / spans
        found.append((squares - spans * mean * mean) / (spans - 1) / mean)
        weights.append(float(requests))
    return float(np.average(found, weights=weights)) if found else None
