"""Within-run and between-run variance: what more samples reduce, and what only more runs reduce.

Run values of a quantile scatter for two reasons: each run is a finite sample of its own distribution
(*within*), and a restarted server settles in another state (*between*: hysteresis, Treadmill II-D and Figure
4). Longer runs reduce only the first.

The within part comes from sections: cut the measurement phase into k equal periods, take the quantile of
each; the variance of their mean is ``var(sections) / k``. That holds under autocorrelation that fades within
a section, for which a formula for independent requests would be far too small.

Limits. A tail quantile of a short section is biased and its scatter skewed: a section should contain at least
20 requests above the quantile (`sections_allowed`). The section mean estimates the variance of the run's own
quantile only up to terms of one over the section's size. The trend of a run that warms up or drifts counts as
*within*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.errors import ArgumentError
from hindmost.stats.runs.intervals import check_values
from hindmost.stats.tables import RunValues

MIN_ABOVE = 20
"""Requests above the quantile that each section should contain: their number then errs by 1/sqrt(20) = 22 %.
"""


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Standard deviations in the unit of the run values; None if unknown.

    ``within_sd``: of one run's quantile around that run's own truth. ``between_sd``: of the truths of runs.
    ``between_share``: between / (between + within) as variances. ``runs``: number of runs.
    """

    between_sd: float | None
    within_sd: float | None
    between_share: float | None
    runs: int


def sections_allowed(samples: int, quantile: float, at_most: int = 20) -> int:
    """Return the number of sections for a run of `samples` requests; fewer than 2 means none.

    Examples
    --------
    >>> sections_allowed(20_000, 0.99), sections_allowed(20_000, 0.999)
    (10, 1)
    """
    if not 0.0 < quantile < 1.0:
        raise ValueError(f"a quantile lies in (0, 1), got {quantile}")
    return max(0, min(at_most, int(samples * (1.0 - quantile) * (1.0 + 1e-9) / MIN_ABOVE)))


def within_variance(section_values: RunValues) -> float | None:
    """Estimate the sampling variance of one run's quantile from the quantiles of its sections.

    Returns
    -------
    float or None
        ``var(sections) / k`` in squared units; None with fewer than 2 sections or an infinite one.

    Examples
    --------
    >>> within_variance([100.0, 104.0, 98.0, 102.0])  # variance 6.67 over 4 sections
    1.6666666666666667
    """
    if len(section_values) < 2:
        return None
    x = check_values(section_values)
    return float(x.var(ddof=1) / x.size) if np.isfinite(x).all() else None


def variance_components(
    run_values: RunValues, within: Sequence[float | None] | None = None
) -> VarianceComponents:
    """Estimate the components of the run values' variance by the method of moments.

    Parameters
    ----------
    run_values
        One quantile value per run. With an infinite one the components are unknown.
    within
        Sampling variance of each, from `within_variance`; None entries are left out of their mean.

    Returns
    -------
    VarianceComponents
        between = max(0, var(run values) - mean(within)). If nothing is left after subtraction, the runs
        differ no more than their own sampling noise: share 0.

    Examples
    --------
    >>> c = variance_components([100.0, 110.0, 95.0, 105.0], [2.0, 3.0, 2.0, 3.0])
    >>> round(c.between_sd, 2), round(c.within_sd, 2), round(c.between_share, 2)
    (6.26, 1.58, 0.94)
    >>> variance_components([100.0, 110.0])
    VarianceComponents(between_sd=None, within_sd=None, between_share=None, runs=2)
    """
    x = check_values(run_values)
    if within is not None and len(within) != x.size:
        raise ArgumentError(
            "bad-argument",
            f"{x.size} run values but {len(within)} within-run variances",
            argument="within",
            value=len(within),
            need=x.size,
        )
    known = [w for w in within or () if w is not None]
    if any(not (w >= 0.0 and math.isfinite(w)) for w in known):
        raise ValueError("within-run variances must be finite and not negative")
    if not known or not np.isfinite(x).all():
        return VarianceComponents(None, None, None, x.size)
    inside = float(np.mean(known))
    if x.size < 2:
        return VarianceComponents(None, math.sqrt(inside), None, x.size)
    between = max(0.0, float(x.var(ddof=1)) - inside)
    total = between + inside
    share = between / total if total > 0.0 else None
    return VarianceComponents(math.sqrt(between), math.sqrt(inside), share, x.size)
