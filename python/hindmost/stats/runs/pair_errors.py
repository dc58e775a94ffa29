"""Standard errors of pairs that are known with different precision, as pairs with interference are.

A pair's log ratio scatters for two reasons: each run has few requests that count (known, from the intervals
within its runs), and restarted servers differ (estimated from all pairs together, by DerSimonian and Laird,
Control. Clin. Trials 7 (1986) 177). Signed ranks of log ratios divided by their errors give each pair the
weight it deserves. Their level does not depend on the errors being right: a pair whose sign is a coin toss
stays one, whatever it is divided by.
"""

from __future__ import annotations

import numpy as np

from hindmost.stats.tables import Floats, RunValues


def pair_errors(gaps: Floats, within: RunValues | None) -> Floats:
    """Return the standard error of each pair's log ratio, up to a common factor.

    Parameters
    ----------
    gaps
        Log ratio of each pair.
    within
        Its standard error from the requests of its two runs; NaN if unknown, which counts as the largest that
        is known. None, or none known: all pairs are equally precise.

    Examples
    --------
    >>> gaps = np.array([0.1, 0.1, 0.1, 0.5])
    >>> pair_errors(gaps, [0.01, 0.01, 0.01, 0.4]).round(2).tolist()
    [0.01, 0.01, 0.01, 0.4]
    >>> pair_errors(gaps, [0.01, 0.01, 0.01, 0.01]).round(2).tolist()
    [0.2, 0.2, 0.2, 0.2]
    """
    own = np.full(gaps.size, np.nan) if within is None else np.asarray(within, dtype=np.float64)
    known = own > 0.0
    if not known.any() or not np.isfinite(gaps).all():
        return np.ones(gaps.size)
    own = np.where(known, own, own[known].max())
    return np.sqrt(_variance_between(gaps, own) + own**2)


def _variance_between(gaps: Floats, own: Floats) -> float:
    """Estimate the variance of the true log ratios of pairs."""
    if gaps.size < 2:
        return 0.0
    weights = own**-2
    total = weights.sum()
    excess = weights @ (gaps - weights @ gaps / total) ** 2 - (gaps.size - 1)
    return max(0.0, float(excess / (total - weights @ weights / total)))
