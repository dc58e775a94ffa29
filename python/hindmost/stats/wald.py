"""Wald's test that several estimates are all zero, with a covariance that was estimated from few units.

Units are clusters or blocks. Their number is taken into account by the degrees of freedom of the covariance:
those of the Wishart distribution with the same total variance (Pustejovsky and Tipton 2018, *HTZ*). If all
units are alike, there are units - 1, and the test is Hotelling's T^2.
"""

from __future__ import annotations

import math

import numpy as np

from hindmost.stats.tables import Floats, chi_square_tail, f_tail


def wald_test(values: Floats, covariance: Floats, degrees: float) -> tuple[float, int, float, float]:
    """Return statistic, degrees of freedom of numerator and denominator, and p.

    F for a covariance with these degrees of freedom; chi-square, with infinitely many degrees in the
    denominator, if they are infinite. All but the numerator are NaN if the covariance is unknown or singular.

    Examples
    --------
    >>> import numpy as np
    >>> [round(one, 3) for one in wald_test(np.array([2.0]), np.array([[1.0]]), 10.0)]  # t = 2
    [4.0, 1, 10.0, 0.073]
    >>> [round(one, 3) for one in wald_test(np.array([2.0, 1.0]), np.eye(2), np.inf)]
    [5.0, 2, inf, 0.082]
    """
    q, unknown = len(values), (math.nan, len(values), math.nan, math.nan)
    errors = np.sqrt(np.diag(covariance))
    if not (errors > 0.0).all() or not np.isfinite(covariance).all():
        return unknown
    correlation, ratios = covariance / np.outer(errors, errors), values / errors
    denominator = degrees - q + 1.0
    if np.linalg.matrix_rank(correlation) < q or not denominator > 0.0:
        return unknown
    wald = float(ratios @ np.linalg.solve(correlation, ratios))
    if math.isinf(degrees):
        return wald, q, math.inf, chi_square_tail(wald, q)
    statistic = wald * denominator / (degrees * q)
    return statistic, q, denominator, f_tail(statistic, q, denominator)


def joint_degrees(own: Floats, through: Floats) -> float:
    """Return the degrees of freedom of a covariance of q estimates that is a sum over units.

    The parts of units g and h have the covariance ``P_gh = [g = h] own_g - through_g' through_h``, if all
    samples have the same variance. They are scaled so that the variances of all parts add up to the identity;
    the degrees are ``q (q + 1) / sum over g, h of [tr(P_gh)^2 + tr(P_gh P_gh)]``.

    Parameters
    ----------
    own : ndarray, shape (units, q, q)
    through : ndarray, shape (units, k, q)
    """
    expected = own.sum(axis=0) - np.einsum("giq,gir->qr", through, through)
    scale = np.linalg.inv(np.linalg.cholesky(expected)).T
    own, through = scale.T @ own @ scale, through @ scale
    # First all pairs without own, then the pairs of equal units.
    inner = np.einsum("giq,gir->gqr", through, through)
    whole = _sum_pairs(through) + _sum_squares(own - inner) - _sum_squares(inner)
    q = own.shape[1]
    return float(q * (q + 1) / whole)


def _sum_pairs(through: Floats) -> float:
    """Return the sum over all pairs of ``tr(B)^2 + tr(B B)`` with ``B = through_g' through_h``."""
    units, k, _ = through.shape
    if units <= k:
        return _sum_squares(np.einsum("gis,hit->ghst", through, through))
    cross = np.einsum("gas,gbt->asbt", through, through)
    return float((cross**2).sum() + np.einsum("asbt,atbs->", cross, cross))


def _sum_squares(blocks: Floats) -> float:
    """Return the sum over all blocks of ``tr(B)^2 + tr(B B)``."""
    traces = np.einsum("...qq->...", blocks)
    return float((traces**2).sum() + (blocks * np.swapaxes(blocks, -1, -2)).sum())
