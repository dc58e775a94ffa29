"""The expected precision of a design's effects, from the variation between runs, before any run is made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hindmost.commands.attribute.design.coding import Coding
from hindmost.commands.attribute.design.design import Design
from hindmost.commands.attribute.design.factors import Term
from hindmost.errors import UsageError

DEFAULT_CV = 0.05
"""Standard deviation of the runs' figures, as a share: a typical value; a pilot study gives a better one."""

POWER = 0.8
"""Probability of finding an effect that is called detectable."""


@dataclass(frozen=True, slots=True)
class Precision:
    """Precision of one term (its worst level), as shares of the latency.

    ``half_width``: of its 95 % interval. ``detectable``: the effect whose interval excludes 0 with
    probability `POWER`.
    """

    half_width: float
    detectable: float


def precision(
    design: Design,
    blocks: int,
    cv: float = DEFAULT_CV,
    *,
    coding: Coding = "average",
    confidence: float = 0.95,
) -> dict[Term, Precision]:
    """Return the expected precision of each term but the intercept.

    With L the solution of least squares, an effect's error is ``cv sqrt(sum_c L_jc^2 / blocks)``, with
    ``blocks - 1`` degrees of freedom. This assumes equal variation in all cells, and effects that are the
    same in all blocks; otherwise intervals are wider.

    Parameters
    ----------
    blocks
        Runs of each cell.
    cv
        Standard deviation over mean of the runs of one cell.
    confidence
        Of each interval alone; ``1 - 0.05 / m`` if m intervals are to hold together (Bonferroni).

    Returns
    -------
    dict
        Infinite if there are too few runs to estimate errors.

    Examples
    --------
    >>> from hindmost.commands.attribute.design import Factor, full
    >>> design = full([Factor(name, ("off", "on")) for name in "abcd"])
    >>> round(precision(design, 10)[("a",)].half_width, 4)  # 2 / sqrt(160) * 5 % * t(9)
    0.0179
    >>> round(precision(design, 10, coding="corner")[("a",)].half_width, 4)  # sqrt(2 / 10) * 5 % * t(9)
    0.0506
    """
    if blocks < 1 or not (cv > 0.0 and math.isfinite(cv)) or not 0.0 < confidence < 1.0:
        raise UsageError(
            "bad-value",
            "precision needs at least 1 block, a positive scatter and a confidence in (0, 1), got"
            f" {blocks}, {cv} and {confidence}",
            blocks=blocks,
            cv=cv,
            confidence=confidence,
        )
    matrix = design.matrix(coding)
    squares = np.linalg.pinv(matrix) ** 2
    errors = cv * np.sqrt(squares.sum(axis=1) / blocks)
    # One block: no cell has a second run, so the residuals of the model estimate the variation.
    degrees = float(blocks - 1 if blocks > 1 else len(design.cells) - len(design.columns))
    worst_by_term: dict[Term, Precision] = {}
    for column, error in zip(design.columns, errors.tolist(), strict=True):
        if column.term:
            own = Precision(_t(0.5 + confidence / 2.0, degrees) * error, math.inf)
            own = Precision(own.half_width, own.half_width + _t(POWER, math.inf) * error)
            worst = worst_by_term.get(column.term, own)
            worst_by_term[column.term] = max(worst, own, key=lambda each: each.half_width)
    return worst_by_term


def _t(probability: float, degrees: float) -> float:
    from scipy.special import ndtri, stdtrit  # type: ignore[import-untyped, unused-ignore]

    if degrees < 1.0:
        return math.inf
    return float(ndtri(probability) if math.isinf(degrees) else stdtrit(degrees, probability))
