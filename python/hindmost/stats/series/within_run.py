"""Interval of a quantile within one run, valid for dependent requests.

Slow requests come in bursts: a request that meets a full queue is followed by others that do. An interval
from order statistics that assumes independent requests (Lancet's, for example) is then far too short. Nominal
95 % covers .41 of the p50 of an AR(.9) series and .28 of the p99 of M/M/1 at 70 % load, and longer runs do
not help.

Method
------
Cut the run into k = 10 equal periods and count the requests above the whole run's quantile in each. For
independent requests these counts would scatter like a binomial distribution; the *dispersion* D is the ratio
of their variance to that. So a share ``s = 1 - level`` of requests above the true quantile is observed as ``s
+- t(k-1) sqrt(D s (1-s) / n)``, and the run's own histogram shows which latencies have these shares above
them [1]_. The width of the band is that of the *hypothesis* (a score interval). It does not shrink if few
slow requests were seen, and the ends follow the tail's shape, without a density estimate or normal latencies.

Ten counts determine D to about +-50 %, and runs with few bursts show few slow requests *and* little
dispersion. Three measures counteract that (measured below):

* the run is *too short* unless requests above the quantile, divided by the dispersion, number 16. This
  *effective* number uses the larger D of two thresholds: the quantile, and the one with five times as many
  requests above it; and never less than 1;
* D is at least 30 % of that larger D;
* the far end is stretched by 1 + 8 / effective, because a run with few bursts by chance errs only to that
  side.

Measured
--------
Coverage of nominal 95 % among runs with an interval, and in brackets the share reported as *too short* (3,000
runs up to 50,000 requests, 1,500 at 100,000 and 200,000, 500 beyond; sojourn times; sections by time; *all*:
99 % or more). One standard error is .004 to .010, more if few runs got an interval.

==================  ===========  ===========  ===========  ===========
series, requests    p50          p95          p99          p99.9
==================  ===========  ===========  ===========  ===========
iid, 5,000          .954         .958         .967         (all)
iid, 20,000         .954         .948         .947         .963 (.43)
iid, 30,000         .961         .953         .959         .968 (.09)
iid, 100,000        .952         .946         .948         .955
AR(.9), 5,000       .950         .952 (.24)   .882 (.97)   (all)
AR(.9), 20,000      .947         .959         .959 (.15)   (all)
AR(.9), 100,000     .957         .957         .960         .948 (.29)
AR(.9), 200,000     .943         .949         .951         .961 (.01)
M/M/1 .7, 5,000     .950         .916 (.76)   (all)        (all)
M/M/1 .7, 20,000    .954         .965 (.02)   .861 (.95)   (all)
M/M/1 .7, 50,000    .952         .961         .956 (.44)   (all)
M/M/1 .7, 100,000   .955         .959         .960 (.05)   (all)
M/M/1 .7, 500,000   .950         .952         .956         .954 (.53)
M/M/1 .7, 10^6      .956         .956         .942         .951 (.05)
==================  ===========  ===========  ===========  ===========

Over ten lengths from 2,000 to 10^6, in all 75 cells in which at least half of the runs got an interval, it
covered .933 to .968 (the .933, M/M/1 p95 at 200,000, was .952 in 6,000 fresh runs; the next is .941). The
three measures were chosen on these simulations, from about 100 combinations. On series that were not used for
that (AR(.98), M/M/1 at 85 %; 23 cells) it covered .931 to .971; the nightly suite uses fresh seeds.

A run with an interval in a cell in which most runs have none met few bursts by chance, and covers less (.92,
.88, .86 in the table). No rule based on the run alone can exclude that. But of *all* runs of a cell at most
6.7 % got an interval that misses, and at most 2.5 % if most are reported as *too short*.

Median half-widths for M/M/1: p50 7 % at 20,000, p99 10 % at 100,000, p99.9 7 % at 10^6 requests.

Tested and rejected: Student's t over the logs of the sections' quantiles (.82 to .93 with 5 to 10 effective
requests, for which this interval, unstretched, holds .90 to .94: tail quantiles of short sections are
biased); D never below 1 (.98 on iid: too wide); five sections (a quarter wider); a square-root or log scale
for the shares (.86 to .94 with 5 to 10 effective requests).

Limits. Bursts that outlast a section (a tenth of the run) cannot be separated from chance, so D is then too
small. A run that drifts has a large D, hence correctly a wide interval or *too short*. It does not cover
differences between *runs*: see `intervals`.

.. [1] Batch means for the indicator "slower than", inverted: B. Schmeiser, "Batch Size Effects in the
   Analysis of Simulation Output", Operations Research 30 (1982) 556-568, gives the case for 10 to 30 batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.errors import ArgumentError
from hindmost.stats.estimate import Estimate
from hindmost.stats.tables import Floats, t_quantile

MIN_EFFECTIVE = 16
"""Fewest effective requests beyond the quantile. At 16 the far end of the interval still leaves two such
requests beyond it (at 95 % and 10 sections); at 13 it would leave none.
"""

LEAST_SECTIONS = 5
"""Fewest sections that show the dispersion. The tables above are for 10."""

_WIDER = 5.0
LEAST_SHARE_OF_D = 0.3
STRETCH = 8.0


@dataclass(frozen=True, slots=True)
class RunInterval:
    """Estimate of one quantile from one run.

    ``estimate``: the run's quantile, in the caller's unit, with n = 1 run. Its ends are NaN if the run is
    `too_short`, or infinitely late beyond what can be bounded. ``effective``: number of independent requests
    that those beyond the quantile are equivalent to. ``dispersion``: number of requests that one burst counts
    for (at least 1). ``need``: factor by which the run should be longer to get an interval almost certainly
    (1 if it has one). ``text``: one sentence with the numbers.
    """

    estimate: Estimate
    too_short: bool
    effective: float
    dispersion: float
    need: float
    text: str


def run_interval(
    level: float,
    quantile_at: Callable[[float], float | None],
    above: Callable[[float], Sequence[int]],
    counts: Sequence[int],
    confidence: float = 0.95,
) -> RunInterval:
    """Estimate a quantile of the run's own distribution, with autocorrelation that fades within a section.

    Parameters
    ----------
    level
        Level of the quantile, in (0, 1).
    quantile_at
        Level in [0, 1] -> latency of the whole run, in any unit; ``math.inf`` for infinitely late. Must not
        decrease.
    above
        Finite latency -> number of requests above it (including infinitely late ones) in each section, in
        time order; same length as `counts`. Called at most twice.
    counts
        Requests in each section, 10 equal periods. Their sum is the run.
    confidence
        Nominal level of the interval in (0, 1); coverage was measured at 0.95.

    Raises
    ------
    ValueError
        If level or confidence is not in (0, 1), there are fewer than 5 sections or no requests, or counts
        above contradict the counts.

    Examples
    --------
    >>> import numpy as np
    >>> run = np.random.default_rng(1).exponential(100.0, 20_000)  # independent requests, mean 100 us
    >>> sections = run.reshape(10, 2_000)
    >>> def quantile_at(level: float) -> float:
    ...     return float(np.quantile(run, level, method="inverted_cdf"))
    >>> def above(latency: float) -> list[int]:
    ...     return [int((part > latency).sum()) for part in sections]
    >>> p99 = run_interval(0.99, quantile_at, above, [2_000] * 10)
    >>> print(p99.estimate)  # truth: 460.5
    458.6 [443.3, 487] (95 %, n=1)
    >>> far = run_interval(0.9999, quantile_at, above, [2_000] * 10)
    >>> far.too_short, round(far.effective), round(far.need)
    (True, 2, 16)
    """
    n, spans = _check_arguments(level, counts, confidence)
    value = quantile_at(level)
    if value is None:
        raise ValueError(f"the run holds {n} requests but has no p{100 * level:.6g}")
    rare = min(level, 1.0 - level)
    thresholds = [value, quantile_at(wider(level))]
    known = [_dispersion(above(x), spans) for x in thresholds if x is not None and math.isfinite(x)]
    name = f"p{100 * level:.6g}"
    if not known:
        text = f"{name} is infinitely late, as are too many requests for an interval"
        return RunInterval(Estimate(value, math.nan, math.nan, 1, confidence), False, 0.0, 1.0, 1.0, text)
    dispersion = max(1.0, *known)
    effective = rare * n / dispersion
    t = t_quantile(len(counts) - 1, 0.5 + confidence / 2.0)
    near = t * math.sqrt(max(known[0], LEAST_SHARE_OF_D * dispersion) * rare * (1.0 - rare) / n)
    far = near * (1.0 + STRETCH / effective)
    worth = f"its {rare * n:.0f} requests beyond equal {_rough(effective)} independent ones"
    if effective < MIN_EFFECTIVE or far >= rare:
        # Twice the limit: 95 of 100 runs pass it there, only half of them at the limit itself.
        need = max(2.0 * MIN_EFFECTIVE / effective, 2.0)
        text = (
            f"too short for {name}: {worth}, {MIN_EFFECTIVE} are needed; make it {_rough(need)} times as long"
        )
        nothing = Estimate(value, math.nan, math.nan, 1, confidence)
        return RunInterval(nothing, True, effective, dispersion, need, text)
    below, beyond = (near, far) if level >= 0.5 else (far, near)
    estimate = Estimate(
        value,
        min(value, _or(quantile_at(level - below), value)),
        max(value, _or(quantile_at(level + beyond), value)),
        1,
        confidence,
    )
    return RunInterval(estimate, False, effective, dispersion, 1.0, f"long enough for {name}: {worth}")


def _rough(x: float) -> str:
    """Format a number rounded down, so that a value below a limit never looks like the limit."""
    return f"{math.floor(x)}" if x >= 10.0 else f"{math.floor(10.0 * x + 1e-6) / 10.0:g}"


def _or(x: float | None, otherwise: float) -> float:
    return otherwise if x is None else x


def wider(level: float) -> float:
    """Return the level with five times as many requests beyond it, at most the median."""
    return max(0.5, 1.0 - _WIDER * (1.0 - level)) if level >= 0.5 else min(0.5, _WIDER * level)


def _dispersion(above: Sequence[int], counts: Floats) -> float:
    """Return the variance of the sections' exceedance counts over that of independent requests, or 0."""
    e = np.asarray(above, dtype=np.float64)
    if e.shape != counts.shape or (e < 0.0).any() or (e > counts).any():
        raise ArgumentError(
            "bad-argument",
            f"{e.size} counts above a latency do not fit {counts.size} sections: {list(above)}",
            argument="above",
        )
    n = float(counts.sum())
    share = float(e.sum()) / n
    if not 0.0 < share < 1.0:
        return 0.0
    residual = e - share * counts
    return float((residual @ residual) / (e.size - 1) / (n / e.size * share * (1.0 - share)))


def _check_arguments(level: float, counts: Sequence[int], confidence: float) -> tuple[int, Floats]:
    if not 0.0 < level < 1.0:
        raise ArgumentError(
            "bad-argument", f"a quantile lies in (0, 1), got {level}", argument="level", value=level
        )
    if not 0.0 < confidence < 1.0:
        raise ArgumentError(
            "bad-argument",
            f"confidence must lie in (0, 1), got {confidence}",
            argument="confidence",
            value=confidence,
        )
    if len(counts) < LEAST_SECTIONS:
        raise ArgumentError(
            "bad-argument",
            f"dispersion needs at least {LEAST_SECTIONS} sections, got {len(counts)}",
            argument="counts",
            value=len(counts),
            need=LEAST_SECTIONS,
        )
    if min(counts) < 0 or sum(counts) == 0:
        raise ArgumentError(
            "bad-argument", f"sections must hold requests, got counts {list(counts)}", argument="counts"
        )
    return sum(counts), np.asarray(counts, dtype=np.float64)
