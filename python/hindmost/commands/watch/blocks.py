"""A ring in blocks of time: a latency quantile and the mean of every metric, for detection and ranking."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hindmost.commands.watch.ring import Ring, merged_quantile_us, read_ring
from hindmost.core.notes import Note
from hindmost.errors import Inconclusive
from hindmost.stats.series.changes import MULTIPLES, NOW_BLOCKS, Change, Detector, block_multiple

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK_S = 30.0
LEAST_BLOCKS = 4
OWN = ("own.", "latency.", "probe.")
"""Prefixes of columns that are not metrics of the host or the application."""


def quantiles_of(
    ring: Ring, q: float, block_s: float = BLOCK_S
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of blocks (seconds since 1970) and their latency quantiles, µs.

    A quantile is infinite if it falls on a failed request, and NaN in a block without requests.
    """
    blocks: dict[int, list[dict[int, int]]] = {}
    for at, counts in ring.histograms:
        blocks.setdefault(int(at // block_s), []).append(counts)
    failed: dict[int, float] = {}
    if ring.about.get("probe"):  # the errors of a log are lines without a latency, not failed requests
        errors = ring.column("latency.errors") * np.diff(ring.at_s, prepend=np.nan)
        for at, more in zip(ring.at_s, errors, strict=True):
            if more > 0:
                failed[int(at // block_s)] = failed.get(int(at // block_s), 0.0) + float(more)
    if not blocks and not failed:
        return np.empty(0), np.empty(0)
    numbers = range(min([*blocks, *failed]), max([*blocks, *failed]) + 1)
    values = []
    for number in numbers:
        answered = blocks.get(number, [])
        count = sum(sum(one.values()) for one in answered)
        every = count + failed.get(number, 0.0)
        inside = q * every / count if count else math.inf
        values.append(
            math.nan
            if not every
            else math.inf
            if inside > 1.0
            else merged_quantile_us(answered, inside, ring.bins_an_octave)
        )
    return (np.array(numbers) + 1.0) * block_s, np.array(values)


def metrics_of(
    ring: Ring, ends: NDArray[np.float64], block_s: float = BLOCK_S
) -> dict[str, NDArray[np.float64]]:
    """Return each metric's mean in the same blocks; for totals, the increase per second."""
    number = np.searchsorted(ends, ring.at_s, side="left")
    if not len(ends):
        return {name: np.empty(0) for name in ring.names if not name.startswith(OWN)}
    inside = (number < len(ends)) & (ring.at_s > ends[0] - block_s)
    metrics = {}
    for name in ring.names:
        if name.startswith(OWN):
            continue
        values = ring.column(name)
        fine = inside & np.isfinite(values)
        sums = np.bincount(number[fine], weights=values[fine], minlength=len(ends))
        counts = np.bincount(number[fine], minlength=len(ends))
        with np.errstate(invalid="ignore"):
            metrics[name] = sums / np.where(counts > 0, counts, np.nan)
    return metrics


@dataclass(frozen=True, slots=True)
class JudgedRing:
    """Complete blocks of a ring, and whether the last ones are slower.

    Attributes
    ----------
    block_s : float
        Length of a block, s.
    ends, values : array, shape (blocks,)
        Ends (seconds since 1970) and quantiles (µs) of the complete blocks.
    change : Change
    note : Note or None
        Why no rate of false alarms can be guaranteed.
    """

    block_s: float
    ends: NDArray[np.float64]
    values: NDArray[np.float64]
    change: Change
    note: Note | None = None


def judge_ring(ring: Ring, q: float, detector: Detector, block_s: float | None = None) -> JudgedRing:
    """Judge whether the last blocks of a ring are slower than the blocks before.

    Blocks last 30 s, or longer until the blocks before an anomaly are nearly independent. An anomaly
    suspected in blocks of 30 s is reported before longer blocks can decide it.

    Parameters
    ----------
    detector : Detector
        Its block length is replaced.
    block_s : float, optional
        Fixed length of a block, s, whatever the dependence between blocks.
    """

    def judge(length: float) -> JudgedRing:
        # The last block is incomplete.
        ends, values = (each[:-1] for each in quantiles_of(ring, q, length))
        return JudgedRing(length, ends, values, replace(detector, block_s=length).judge(ends, values))

    short = judge(BLOCK_S if block_s is None else block_s)
    if block_s is not None:
        return short
    start_s = short.change.since_s
    quiet = short.values if start_s is None else short.values[short.ends < start_s]
    multiple = block_multiple(quiet)
    if multiple == 1:
        return short
    longest = BLOCK_S * (multiple or MULTIPLES[-1])
    long = judge(longest)
    if multiple is None:
        text = (
            f"blocks of {longest:g} s are still correlated, or too few: no rate of false alarms can be"
            " guaranteed"
        )
        note = Note("correlated-blocks", text, {"block_s": longest})
        change = short.change
        if change.kind == "anomaly" and change.p > replace(detector, block_s=BLOCK_S).a_block:
            change = replace(change, kind="undecided", why=text, minutes=longest / 60)
        return replace(short, change=change, note=note)
    if start_s is None or long.change.kind not in ("none", "undecided"):
        return long
    left_s = max(BLOCK_S, (NOW_BLOCKS + 1) * longest - (float(short.ends[-1]) - start_s))
    why = (
        f"{short.change.ratio:.2f} times the baseline in blocks of {BLOCK_S:g} s; blocks of {longest:g} s"
        f" will decide it in {left_s / 60:g} min"
    )
    change = replace(short.change, kind="undecided", why=why, minutes=left_s / 60)
    return replace(long, change=change)


def normal_of(path: Path, q: float) -> float:
    """Return the usual quantile: its median over blocks in the first three quarters of a ring, µs.

    Raises
    ------
    Inconclusive
        The ring contains too few blocks with latency.
    """
    _, values = quantiles_of(read_ring(path), q)
    values = values[np.isfinite(values)]
    early = values[: len(values) * 3 // 4]
    if len(early) < LEAST_BLOCKS:
        raise Inconclusive(
            "few-blocks",
            f"{path} contains {len(values)} blocks of {BLOCK_S:g} s with latency, too few to know what is"
            " normal",
            hint="give it: --normal 150us",
            path=str(path),
            have=len(values),
            need=math.ceil(LEAST_BLOCKS * 4 / 3),
        )
    return float(np.median(early))


MOST_ROWS = 120
"""Blocks of normal behaviour to keep: the last twenty minutes before an anomaly represent it best."""
METRICS_BLOCK_S = 10.0


def normal_metrics_of(path: Path, names: Sequence[str]) -> NDArray[np.float64]:
    """Return metrics in the first three quarters of a ring, by blocks of ten seconds; totals per second.

    Returns
    -------
    array, shape (blocks, metrics)
        Means of the samples in which all metrics are known; the last 120 blocks.
    """
    ring = read_ring(path)
    if not set(names) <= set(ring.names):
        return np.empty((0, len(names)))
    rows = np.column_stack([ring.column(name) for name in names])
    early = rows[: len(rows) * 3 // 4]
    early[:, np.isnan(early).all(axis=0)] = 0.0  # a metric that the host does not report stays constant
    fine = np.isfinite(early).all(axis=1)
    numbers = (ring.at_s[: len(early)][fine] // METRICS_BLOCK_S).astype(int)
    blocks = [early[fine][numbers == number].mean(axis=0) for number in np.unique(numbers)]
    return np.array(blocks[-MOST_ROWS:]).reshape(-1, len(names))


def normal_work_of(path: Path) -> float | None:
    """Return the median number of CPUs that the application used in the first three quarters of a ring.

    Returns None if the ring does not contain it.
    """
    ring = read_ring(path)
    rates = ring.column("app.run_us")
    early = rates[: len(rates) * 3 // 4]
    early = early[np.isfinite(early)]
    return float(np.median(early)) / 1e6 if len(early) and np.median(early) > 0 else None
