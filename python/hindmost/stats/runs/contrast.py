"""Comparison of one server with another, percentile by percentile: ratios, differences and a conclusion.

The run is the unit, because runs of one server differ, by its start and by the host. Ratios are computed on
the logarithmic scale, by ranks (`hindmost.stats.shifts` for runs of two studies, signed ranks for pairs). A
percentile is *same* if the 90 % interval of its ratio lies within the margin (two one-sided tests at 5 %). It
is *slower* or *faster* if the 95 % interval excludes 1 and p, adjusted for all percentiles together, is below
5 %. Otherwise it is *undecided*, with an estimate of how many more runs would decide.

Pairs of different precision are weighted (`pair_errors`). If a study looks at its runs more than once, each
look has its own `level` (`looks`), at which its intervals and its p hold.

Simulated, four percentiles of a run that share .8 of their scatter, sd 3 % of runs, margin 5 %, 400 studies
of arms and 300 of pairs (`tests/stats/test_contrast.py` regenerates them). Columns: share with any percentile
called slower or faster if nothing differs (in brackets: by unadjusted p), and if all are 10 % slower; share
in which an equal p99 is called the same, and one that is 5 % off:

===========  ===============  ==========  ============  ==============
runs         A against A      10 % off    called same   5 % off: same
===========  ===============  ==========  ============  ==============
4 per arm    .00 (.09)        .76         .19           .02
5 per arm    .03 (.07)        .99         .40           .04
10 per arm   .03 (.09)        1.0         .92           .03
6 pairs      .00 (.09)        .82         .54           .06
8 pairs      .03 (.13)        1.0         .71           .04
10 pairs     .03 (.13)        1.0         .84           .04
===========  ===============  ==========  ============  ==============
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hindmost.stats.estimate import Estimate
from hindmost.stats.ranks import signed_rank_interval
from hindmost.stats.runs.intervals import check_values
from hindmost.stats.runs.pair_errors import pair_errors
from hindmost.stats.runs.relabelling import relabelling_test
from hindmost.stats.runs.verdicts import more_runs
from hindmost.stats.shifts import shift_interval
from hindmost.stats.tables import Floats, RunValues

Word = Literal["same", "slower", "faster", "undecided"]

CONFIDENCE = 0.95
LEVEL = 0.05
LEAST_RUNS, LEAST_PAIRS = 4, 6
"""With fewer runs of an arm, or pairs, there is no 95 % interval by ranks."""


def least_pairs(comparisons: int = 1, level: float = LEVEL) -> int:
    """Return the fewest pairs that can separate `comparisons` arms from a first, at an error of `level`.

    If all n pairs agree, flipping signs gives a p-value of 2 / 2^n, and no smaller one.

    >>> [least_pairs(sides) for sides in (1, 2, 7, 50)]
    [6, 7, 9, 11]
    """
    return max(LEAST_PAIRS, math.floor(math.log2(2.0 * comparisons / level)) + 1)


_Z_DECIDES = 1.96 + 0.8416
"""Distance from zero in errors at which 80 of 100 studies detect an effect."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """One percentile of the second arm compared with the first.

    Attributes
    ----------
    ratio : Estimate
        Second over first, for a typical run (or pair). Infinite if the second is infinitely late. The
        interval holds at all looks of the study together.
    difference : Estimate
        Second minus first, in the unit of the values.
    within : tuple of float
        The 90 % interval of the ratio, which decides equivalence.
    p : float
        By relabelling runs, or flipping signs of pairs.
    p_textbook : float
        Mann and Whitney's, or Wilcoxon's for pairs (scipy).
    adjusted : float
        `p` for all percentiles, comparisons and looks together.
    word : str
        The conclusion.
    more : int or None
        Estimated number of additional runs per arm that would decide: 0 if decided, None if no feasible
        number would.
    """

    ratio: Estimate
    difference: Estimate
    within: tuple[float, float]
    p: float
    p_textbook: float
    adjusted: float
    word: Word
    more: int | None


def contrasts(
    first: Mapping[str, RunValues],
    second: Mapping[str, RunValues],
    margin: float = 0.05,
    *,
    paired: bool = False,
    errors: Mapping[str, RunValues] | None = None,
    comparisons: int = 1,
    level: float = LEVEL,
    seed: int = 1,
) -> dict[str, Contrast]:
    """Compare two arms.

    Parameters
    ----------
    first, second
        By percentile, one positive value per run, runs in the same order; infinite for an infinitely late
        run. Percentiles of both arms are compared, unless both have infinite runs.
    margin
        Ratios from ``1 / (1 + margin)`` to ``1 + margin`` count as the same. Fix it beforehand.
    paired
        Whether runs with the same index were made one after the other.
    errors
        By percentile, the standard error of each pair's log ratio from the requests of its runs; NaN if
        unknown. Default: pairs are equally precise.
    comparisons
        Number of arms compared with the first: p-values are adjusted for them.
    level
        Error of this look: a part of 5 % if the study may look more than once (`looks.error_of_look`).
    seed
        Random seed of the relabellings.

    Raises
    ------
    ValueError
        If a value is not positive, pairs do not match, or the margin is not in (0, 1).

    Examples
    --------
    >>> before = {"p99": [100.0, 102.0, 99.0, 101.0, 100.5, 98.0]}
    >>> found = contrasts(before, {"p99": [111.0, 109.0, 112.0, 110.0, 108.0, 111.5]})["p99"]
    >>> print(found.ratio, found.word)
    1.102 [1.079, 1.122] (95 %, n=6) slower
    >>> contrasts(before, {"p99": [100.2, 101.0, 99.5, 101.5, 98.5, 100.0]})["p99"].word
    'same'
    """
    if not 0.0 < margin < 1.0:
        raise ValueError(f"the margin must lie in (0, 1), got {margin}")
    sides = {
        name: (check_values(first[name]), check_values(second[name])) for name in first if name in second
    }
    for name, both in sides.items():
        if min(side.min() for side in both) <= 0.0:
            raise ValueError(f"{name}: run values must be positive")
    sides = {name: both for name, both in sides.items() if not all(np.isinf(side).any() for side in both)}
    if not sides:
        return {}
    scales = None
    if paired:
        known = errors or {}
        scales = {name: pair_errors(np.log(b) - np.log(a), known.get(name)) for name, (a, b) in sides.items()}
    tested = relabelling_test(
        [a for a, _ in sides.values()],
        [b for _, b in sides.values()],
        paired=paired,
        errors=None if scales is None else list(scales.values()),
        seed=seed,
    )
    return {
        name: _contrast(
            a,
            b,
            margin,
            (p, min(1.0, comparisons * adjusted * LEVEL / level)),
            least=least_pairs(comparisons, level) if paired else LEAST_RUNS,
            level=level,
            scales=None if scales is None else scales[name],
        )
        for (name, (a, b)), p, adjusted in zip(sides.items(), tested.p, tested.adjusted, strict=True)
    }


def _contrast(
    a: Floats,
    b: Floats,
    margin: float,
    ps: tuple[float, float],
    *,
    least: int,
    level: float,
    scales: Floats | None,
) -> Contrast:
    """Compare one percentile. `scales`: errors of pairs; None if the runs are not paired."""
    log_a, log_b = np.log(a), np.log(b)
    logs = _shift(log_a, log_b, 1.0 - level, scales)
    value, low, high = (math.exp(one) for one in logs)
    n = min(a.size, b.size)
    _, *ends = _shift(log_a, log_b, 1.0 - 2.0 * level, scales)  # two one-sided tests
    within = (math.exp(ends[0]), math.exp(ends[1]))
    word = _classify(low, high, within, margin, ps[1])
    more = 0 if word != "undecided" else _more(logs, margin, n, ps[1], least)
    return Contrast(
        Estimate(value, low, high, n, CONFIDENCE),
        Estimate(*_shift(a, b, 1.0 - level, scales), n, CONFIDENCE),
        within,
        ps[0],
        _replica(log_a, log_b, paired=scales is not None),
        ps[1],
        word,
        more,
    )


def _shift(a: Floats, b: Floats, confidence: float, scales: Floats | None) -> tuple[float, float, float]:
    if scales is None:
        return shift_interval(a, b, confidence)
    return signed_rank_interval(b - a, confidence, scales)


def _classify(low: float, high: float, within: tuple[float, float], margin: float, adjusted: float) -> Word:
    if 1.0 / (1.0 + margin) < within[0] and within[1] < 1.0 + margin:
        return "same"
    if adjusted < LEVEL and low > 1.0:
        return "slower"
    if adjusted < LEVEL and high < 1.0:
        return "faster"
    return "undecided"


def _replica(a: Floats, b: Floats, *, paired: bool) -> float:
    """Return the p-value of the textbook's test of the same hypothesis, by scipy."""
    from scipy.stats import mannwhitneyu, wilcoxon  # type: ignore[import-untyped, unused-ignore]

    if not paired:
        return float(mannwhitneyu(a, b).pvalue)
    gaps = np.where(a == b, 0.0, b - a)
    return float(wilcoxon(gaps).pvalue) if gaps.any() else 1.0


def _more(logs: tuple[float, float, float], margin: float, n: int, adjusted: float, least: int) -> int | None:
    """Estimate how many more runs per arm, or pairs, would decide."""
    from scipy.special import ndtri  # type: ignore[import-untyped, unused-ignore]

    if math.isnan(logs[1]) or n < least:
        return max(1, least - n)
    found = more_runs(_Logs(*logs), math.log1p(margin), n)
    if found != 0:
        return found
    # Its interval would suffice, but not for this many percentiles together.
    z = max(0.5, -float(ndtri(min(adjusted, 1.0) / 2.0)))
    return max(1, math.ceil(n * ((_Z_DECIDES / z) ** 2 - 1.0)))


@dataclass(frozen=True, slots=True)
class _Logs:
    value: float
    low: float
    high: float
