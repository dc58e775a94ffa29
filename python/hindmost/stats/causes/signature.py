"""Signature of an anomaly: whether the metrics that moved with it recover with a suspect, not only latency.

::

    a = A - N    shift of metrics from normal to anomaly    residual = |a - c| / |a|
    c            a suspect's effect on them, by pairs       0: the same shift; 1: none of it

Means of metrics are compared on a special scale (asinh, in standard deviations of normal operation), so that
units do not matter, and a tenfold rate is not a hundred times a tenth of it. Squared lengths are corrected
for noise: once in the mean, twice in a resample. Normal operation comes in blocks of ten seconds, because a
host varies more from minute to minute than its samples do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.core.notes import Note

GATE = 0.5
"""Largest residual of a fitting signature. A similar but different cause at a cosine of 0.8 has a residual of
0.6: a limit of 0.7 accepted 33 to 44 % of them, this limit 0 to 2 %.
"""
ALPHA = 0.02
RESAMPLES = 400
LEAST_UNIT = 1.0
"""Per second, or one: lower rates count as zero."""
LEAST_SPREAD = 0.1
"""Smallest spread of a metric that hardly moved: a change by a tenth then counts as one standard deviation.
"""
LEAST_MOVED = 3.0
"""Smallest shift, in standard deviations, that can be compared."""
LEAST_EFFECTIVE = 8.0
"""Fewest independent blocks of normal operation, ``n (1 - rho) / (1 + rho)``, that allow a decision."""
LEAST_PAIRS = 6
TOLD = 3
"""Number of metrics that are named."""

Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Signature:
    """The part of an anomaly's shift that a suspect does not explain.

    Attributes
    ----------
    residual, low, high : float
        Share of the shift's length, with bounds at 2 % each. NaN if unknown.
    moved : float
        Length of the shift, in standard deviations of normal operation.
    stays : tuple of (str, float)
        Metrics that contribute most to the residual: name, and the share of its shift that remains.
    note : Note or None
        Why there is no residual. None if there is one.
    """

    residual: float
    low: float
    high: float
    moved: float
    stays: tuple[tuple[str, float], ...] = ()
    note: Note | None = None

    @property
    def why(self) -> str:
        """The note's sentence. Empty if there is a residual."""
        return self.note.text if self.note else ""

    @property
    def fits(self) -> bool | None:
        """Whether the suspect has the anomaly's signature. None: undecided."""
        return True if self.high < GATE else False if self.low > GATE else None


def unknown_signature(code: str, text: str, **values: float) -> Signature:
    """Return a signature without a residual, with the reason."""
    return Signature(math.nan, math.nan, math.nan, math.nan, (), Note(code, text, values))


@dataclass(frozen=True, slots=True)
class Normal:
    """Metrics during normal operation: names, and a row for each block of ten seconds, in order."""

    names: tuple[str, ...]
    rows: Rows


def signature_of(
    normal: Normal,
    anomaly: Rows,
    with_it: Rows,
    without: Rows,
    direct: frozenset[str] = frozenset(),
    *,
    paired: bool = False,
    seed: int = 1,
) -> Signature:
    """Compare a suspect's shift with the anomaly's.

    Parameters
    ----------
    normal : Normal
    anomaly : array, shape (m, metrics)
    with_it, without : array, shape (pairs, metrics)
        With the suspect and without it.
    direct : frozenset of str
        Metrics that the experiment itself sets. They show that the dose arrived, and are no evidence.
    paired : bool
        Whether `anomaly` is `with_it`: the suspect was removed from the slow host itself.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> def at(*levels): return rng.normal(levels, 2.0, (12, len(levels)))
    >>> normal = Normal(("switches", "delay"), at(100.0, 50.0))
    >>> sick = at(100.0, 400.0)
    >>> signature_of(normal, sick, sick, at(100.0, 50.0), paired=True).fits
    True
    >>> signature_of(normal, sick, sick, at(100.0, 390.0), paired=True).fits
    False
    """
    kept = np.array([name not in direct for name in normal.names])
    names = [name for name in normal.names if name not in direct]
    if not names:
        return unknown_signature("no-free-metric", "the experiment itself sets every compared metric")
    both = np.isfinite(with_it[:, kept]).all(axis=1) & np.isfinite(without[:, kept]).all(axis=1)
    rows = [_whole(normal.rows[:, kept]), _whole(anomaly[:, kept])]
    rows += [with_it[both][:, kept], without[both][:, kept]]
    rho, n = _memory(rows[0]), len(rows[0])
    if n * (1 - rho) / (1 + rho) < LEAST_EFFECTIVE:
        worth = n * (1 - rho) / (1 + rho)
        return unknown_signature(
            "few-normal-blocks",
            f"{n} normal blocks count as {worth:.0f} independent ones; {LEAST_EFFECTIVE:g} are needed",
            blocks=n,
            have=worth,
            need=LEAST_EFFECTIVE,
        )
    if (pairs := min(len(rows[1]), len(rows[2]))) < LEAST_PAIRS:
        text = f"{pairs} pairs are too few; {LEAST_PAIRS} are needed"
        return unknown_signature("few-pairs", text, have=pairs, need=LEAST_PAIRS)
    return _compare(names, rows, rho, paired=paired, seed=seed)


def _whole(rows: Rows) -> Rows:
    return np.asarray(rows[np.isfinite(rows).all(axis=1)])


def _memory(rows: Rows) -> float:
    """Return the lag-1 autocorrelation, averaged over metrics and at least 0."""
    if len(rows) < 3:
        return 0.0
    centred = rows - rows.mean(axis=0)
    power = (centred**2).sum(axis=0)
    lagged = (centred[1:] * centred[:-1]).sum(axis=0)
    return float(np.clip(np.mean(lagged / np.maximum(power, 1e-12)), 0.0, 0.99))


def _compare(names: Sequence[str], rows: Sequence[Rows], rho: float, *, paired: bool, seed: int) -> Signature:
    normal, anomaly, with_it, without = rows
    rng = np.random.default_rng(seed)
    block = max(1, math.ceil(1.5 * (1 + rho) / (1 - rho)))
    pairs = rng.integers(0, len(with_it), (RESAMPLES, len(with_it)))
    sick = pairs if paired else rng.integers(0, len(anomaly), (RESAMPLES, len(anomaly)))
    unit = np.maximum(np.median(np.abs(normal), axis=0), LEAST_UNIT)
    spread = np.maximum(np.arcsinh(normal / unit).std(axis=0), LEAST_SPREAD)

    def level(values: Rows) -> Rows:
        # Take the mean first: the mean of a bursty metric's logarithms depends on the windows' length.
        return np.asarray(np.arcsinh(values.mean(axis=-2) / unit) / spread)

    ill = with_it if paired else anomaly
    a = level(ill[sick]) - level(normal[_blocks(rng, len(normal), block)])
    c = level(with_it[pairs]) - level(without[pairs])
    a_mean = level(ill) - level(normal)
    gap_mean = a_mean - (level(with_it) - level(without))
    gaps = a - c
    of_gap, of_a = (
        float(((each - mean) ** 2).sum(axis=1).mean()) for each, mean in ((gaps, gap_mean), (a, a_mean))
    )
    moved = math.sqrt(max(0.0, float((a_mean**2).sum()) - of_a))
    if moved < LEAST_MOVED:
        text = f"metrics moved by only {moved:.1f} standard deviations, which is too little to compare"
        return unknown_signature("no-shift", text, moved=moved, need=LEAST_MOVED)
    residuals = _relative((gaps**2).sum(axis=1) - 2 * of_gap, (a**2).sum(axis=1) - 2 * of_a)
    value = float(_relative(np.array([(gap_mean**2).sum() - of_gap]), np.array([moved**2]))[0])
    most = np.argsort(-(gap_mean**2))[:TOLD]
    stays = tuple(
        (names[at], float(gap_mean[at] / a_mean[at]) if abs(a_mean[at]) > 1e-9 else math.inf)
        for at in most
        if gap_mean[at] ** 2 > 0.05 * (gap_mean**2).sum() and abs(gap_mean[at]) > 1.0
    )
    low, high = (float(np.quantile(residuals, at)) for at in (ALPHA, 1 - ALPHA))
    return Signature(value, low, high, moved, stays)


def _relative(gap: Rows, a: Rows) -> Rows:
    return np.asarray(np.sqrt(np.maximum(gap, 0.0) / np.maximum(a, 1e-9)))


def _blocks(rng: np.random.Generator, n: int, block: int) -> NDArray[np.int64]:
    """Return the rows of resamples in moving blocks, wrapped around the end."""
    starts = rng.integers(0, n, (RESAMPLES, math.ceil(n / block)))
    every = (starts[:, :, None] + np.arange(block)[None, None, :]).reshape(RESAMPLES, -1)[:, :n]
    return np.asarray(every % n)
