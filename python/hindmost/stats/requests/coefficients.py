"""Coefficients of a quantile regression with their intervals, and tests of several coefficients together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.stats.requests.linear_quantile import Level
from hindmost.stats.tables import t_quantile, upper_tail


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient with its 95 % interval, in the unit of y per unit of its column.

    ``p``: of zero, two-sided. ``quantile``: its level.
    """

    name: str
    value: float
    error: float
    low: float
    high: float
    p: float
    quantile: float


@dataclass(frozen=True, slots=True)
class JointTest:
    """Wald's test of the null that several coefficients are all zero.

    By clusters ``statistic`` is F with ``numerator`` and ``denominator`` degrees of freedom. For independent
    samples it is chi-square with ``numerator`` degrees, and ``denominator`` is infinite. Statistic and p are
    NaN if the samples do not determine the covariance.
    """

    name: str
    statistic: float
    numerator: int
    denominator: float
    p: float
    quantile: float

    @property
    def reference(self) -> str:
        """The distribution of the statistic under the null.

        >>> JointTest("threads", 4.1, 2, 14.3, 0.04, 0.99).reference
        'F(2, 14.3)'
        """
        if math.isinf(self.denominator):
            return f"chi-square({self.numerator})"
        return f"F({self.numerator}, {self.denominator:.3g})"


def coefficients(level: Level, names: Sequence[str], tau: float) -> list[Coefficient]:
    """Return all coefficients of a level."""
    variances = np.diag(level.covariance).tolist()
    found = zip(names, level.solution.tolist(), variances, level.degrees.tolist(), strict=True)
    return [_coefficient(name, tau, *figures) for name, *figures in found]


def joint_test(level: Level, name: str, at: Sequence[int], tau: float) -> JointTest:
    """Test the coefficients at these places together."""
    return JointTest(name, *level.wald(at), tau)


def coefficient_lines(level: Level, rows: Sequence[Coefficient]) -> list[str]:
    """Write the coefficients of a level as lines of a table below its head."""
    least, most = level.degrees.min(), level.degrees.max()
    kind = f"by clusters, t with {least:.3g} to {most:.3g} df"
    if math.isinf(most):
        kind = "independent samples"
    wide = max(len(one.name) for one in rows)
    return [
        f"quantile {rows[0].quantile:g}, objective {level.objective:.8g}, 95 % intervals ({kind})",
        f"{'':{wide}}  {'estimate':>12} {'error':>11} {'p':>8}   95 % interval",
        *(
            f"{one.name:{wide}}  {one.value:12.6g} {one.error:11.5g} {_format_p(one.p):>8}"
            f"   [{one.low:.6g}, {one.high:.6g}]"
            for one in rows
        ),
    ]


def _format_p(p: float) -> str:
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def _coefficient(name: str, tau: float, value: float, variance: float, degrees: float) -> Coefficient:
    error = math.sqrt(variance)
    reach = t_quantile(degrees, 0.975) * error
    if error > 0.0:
        tail = upper_tail(np.array(abs(value) / error), degrees if math.isfinite(degrees) else 0)
        p = min(1.0, 2.0 * float(tail))
    else:
        p = math.nan if math.isnan(error) else float(value == 0.0)
    return Coefficient(name, value, error, value - reach, value + reach, p, tau)
