"""p-values and intervals that hold for a whole family of hypotheses.

A study tests one hypothesis per coefficient, quantile and load: 15 x 3 x 2 for four factors. At 5 % each,
four or five false alarms would be normal. Holm's procedure needs only the p-values. The step-down procedure
of Romano and Wolf (Econometrica 2005) uses the largest studentised statistic of joint draws under the null.
It gains power if statistics are correlated, as coefficients and quantiles of the same runs are. The false
discovery rate (Benjamini and Hochberg 1995) is only for screening, whose findings are tested again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hindmost.errors import ArgumentError
from hindmost.stats.tables import Floats


def holm(ps: Sequence[float]) -> list[float]:
    """Adjust p-values to control the probability of any false alarm in the family (Holm 1979).

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    out, highest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[i]))
        out[i] = highest
    return out


def holm_families(families: Sequence[Sequence[float]]) -> list[list[float]]:
    """Apply Holm's adjustment to several lists together: quantiles and loads of one study.

    Examples
    --------
    >>> holm_families([[0.01, 0.5], [0.02]])
    [[0.03, 0.5], [0.04]]
    """
    flat = holm([p for family in families for p in family])
    ends = np.cumsum([len(family) for family in families]).tolist()
    return [flat[end - len(family) : end] for family, end in zip(families, ends, strict=True)]


def false_discovery(ps: Sequence[float]) -> list[float]:
    """Return q-values: the expected share of false alarms among all p at least as small (screening only).

    Examples
    --------
    >>> [round(q, 3) for q in false_discovery([0.01, 0.04, 0.03, 0.5])]
    [0.04, 0.053, 0.053, 0.5]
    """
    p = np.asarray(ps, dtype=np.float64)
    order = np.argsort(p)[::-1]
    ratios = p[order] * p.size / np.arange(p.size, 0, -1)
    out = np.empty(p.size)
    out[order] = np.minimum(1.0, np.minimum.accumulate(ratios))
    return [float(q) for q in out]


def step_down(statistics: npt.ArrayLike, draws: npt.ArrayLike) -> list[float]:
    """Return p-values of Romano and Wolf's step-down procedure.

    Parameters
    ----------
    statistics : array_like, shape (m,)
        Studentised estimates, ``value / error``.
    draws : array_like, shape (draws, m)
        The same under the null, drawn jointly (`hindmost.stats.joint_draws`). Concatenate studies of several
        loads as columns.

    Raises
    ------
    ValueError
        If the shapes do not match.

    Examples
    --------
    >>> null = np.random.default_rng(1).standard_normal((5000, 3))
    >>> [round(p, 2) for p in step_down([0.5, 4.0, 2.2], null)]
    [0.63, 0.0, 0.06]
    """
    t, null = _fitting(statistics, draws)
    order = np.argsort(-t)
    out, highest = np.empty(t.size), 0.0
    # The largest of those still in the family, from the smallest statistic upwards.
    largest = np.maximum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]
    for place, i in enumerate(order):
        share = (1.0 + np.count_nonzero(largest[:, place] >= t[i])) / (1.0 + len(null))
        highest = max(highest, share)
        out[i] = highest
    return [float(p) for p in out]


def simultaneous(draws: npt.ArrayLike, confidence: float = 0.95) -> float:
    """Return the half-width in errors at which all intervals cover together.

    Examples
    --------
    >>> null = np.random.default_rng(1).standard_normal((20_000, 15))
    >>> 2.8 < simultaneous(null) < 3.0
    True
    """
    null = np.abs(np.asarray(draws, dtype=np.float64))
    if null.ndim != 2 or null.size == 0:
        raise ValueError(f"expected draws of shape (draws, questions), got {null.shape}")
    return float(np.quantile(null.max(axis=1), confidence, method="higher"))


def _fitting(statistics: npt.ArrayLike, draws: npt.ArrayLike) -> tuple[Floats, Floats]:
    t, null = np.abs(np.asarray(statistics, np.float64)), np.abs(np.asarray(draws, np.float64))
    if t.ndim != 1 or null.ndim != 2 or null.shape[1] != t.size or null.shape[0] == 0:
        raise ArgumentError(
            "bad-argument", f"{t.shape} statistics do not fit draws of shape {null.shape}", argument="t"
        )
    return t, null
