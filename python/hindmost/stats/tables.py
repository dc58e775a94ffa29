"""Distribution functions (Student, normal, binomial, chi-square), from scipy, imported on first use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RunValues = Sequence[float] | Floats
"""One value per run, in run order; infinite for an infinitely late run."""


def t_quantile(degrees: float, probability: float) -> float:
    """Return the quantile of Student's t.

    Examples
    --------
    >>> round(t_quantile(9, 0.975), 3)
    2.262
    """
    from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

    return float(stdtrit(degrees, probability))


def t_quantiles(degrees: Floats, probability: float) -> Floats:
    """Return `t_quantile` for each number of degrees."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(degrees, probability), dtype=np.float64)


def upper_tail(z: Floats, degrees: float = 0) -> Floats:
    """Return P(T > z) for Student's t with these degrees of freedom, or for the normal distribution if 0."""
    from scipy.special import ndtr, stdtr

    return np.asarray(stdtr(degrees, -z) if degrees else ndtr(-z), dtype=np.float64)


def coin_cdf(heads: npt.NDArray[np.int64], tosses: int) -> Floats:
    """Return P(at most `heads` in `tosses` fair tosses)."""
    from scipy.special import bdtr

    return np.asarray(bdtr(heads, tosses, 0.5), dtype=np.float64)


def chi_square_tail(statistic: float, degrees: int) -> float:
    """Return P(at least `statistic`) for chi-square with these degrees of freedom.

    Examples
    --------
    >>> round(chi_square_tail(18.307, 10), 4)
    0.05
    """
    from scipy.special import chdtrc

    return float(chdtrc(degrees, statistic))


def f_tail(statistic: float, numerator: float, denominator: float) -> float:
    """Return P(at least `statistic`) for Fisher's F with these degrees of freedom.

    Examples
    --------
    >>> round(f_tail(4.103, 2, 10), 4)
    0.05
    """
    from scipy.special import fdtrc

    return float(fdtrc(numerator, denominator, statistic))


def binomial_bounds(k: float, n: float, confidence: float) -> tuple[float, float]:
    """Return Clopper and Pearson's interval for a share observed as k of n, which need not be whole numbers.

    Examples
    --------
    >>> [round(end, 4) for end in binomial_bounds(3, 12, 0.95)]
    [0.0549, 0.5719]
    """
    from scipy.special import betaincinv

    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(k, n - k + 1, tail)) if k else 0.0
    return low, float(betaincinv(k + 1, n - k, 1.0 - tail)) if k < n else 1.0
