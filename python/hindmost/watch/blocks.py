"""A ring by blocks: a quantile and every metric, for detection and ranking."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hindmost.errors import Inconclusive
from hindmost.notes import Note
from hindmost.stats.series.changes import MULTIPLES, block_multiple
from hindmost.watch.ring import Ring, merged_quantile_us, read_ring

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK_S = 30.0
LEAST_BLOCKS = 4
OWN = ("own.", "latency.", "probe.")
"""Columns that are no metrics of the host or the application."""


def quantiles_of(
    ring: Ring, q: float, block_s: float = BLOCK_S
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of blocks (seconds since 1970) and their quantiles, microseconds; NaN without requests."""
    blocks: dict[int, list[dict[int, int]]] = {}
    for at, counts in ring.histograms:
        blocks.setdefault(int(at // block_s), []).append(counts)
    if not blocks:
        return np.empty(0), np.empty(0)
    numbers = range(min(blocks), max(blocks) + 1)
    values = [merged_quantile_us(blocks.get(number, []), q, ring.bins_an_octave) for number in numbers]
    return (np.array(numbers) + 1.0) * block_s, np.array(values)


def metrics_of(
    ring: Ring, ends: NDArray[np.float64], block_s: float = BLOCK_S
) -> dict[str, NDArray[np.float64]]:
    """Each metric's mean in the same blocks; of totals, what was added a second."""
    number = np.searchsorted(ends, ring.at_s, side="left")
    if not len(ends):
        return {name: np.empty(0) for name in ring.names if not name.startswith(OWN)}
    inside = (number < len(ends)) & (ring.at_s > ends[0] - block_s)
    found = {}
    for name in ring.names:
        if name.startswith(OWN):
            continue
        values = ring.column(name)
        fine = inside & np.isfinite(values)
        sums = np.bincount(number[fine], weights=values[fine], minlength=len(ends))
        counts = np.bincount(number[fine], minlength=len(ends))
        with np.errstate(invalid="ignore"):
            found[name] = sums / np.where(counts > 0, counts, np.nan)
    return found


def chosen(
    ring: Ring, q: float, block_s: float | None
) -> tuple[float, NDArray[np.float64], NDArray[np.float64], Note | None]:
    """Choose blocks that are nearly independent: 30 s, or what this series takes, unless a length is given.

    Returns
    -------
    block_s, ends, values, why
        `why`: why nothing can be promised, where even blocks of four minutes remain correlated.
    """
    length = BLOCK_S if block_s is None else block_s
    ends, values = quantiles_of(ring, q, length)
    multiple = 1 if block_s is not None else block_multiple(values[:-1])
    if multiple == 1:
        return length, ends, values, None
    longest = BLOCK_S * (multiple or MULTIPLES[-1])
    ends, values = quantiles_of(ring, q, longest)
    if multiple is not None:
        return longest, ends, values, None
    why = Note(
        "correlated-blocks",
        f"blocks of {longest:g} s are still correlated, or too few: no rate of false alarms can be promised",
        {"block_s": longest},
    )
    return longest, ends, values, why


def normal_of(path: Path, q: float) -> float:
    """Return the median over blocks of the quantile in the first three quarters of a ring, microseconds.

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
            f"{path} contains {len(values)} blocks of {BLOCK_S:g} s with latency, too few to tell what is"
            " normal",
            hint="--normal 150us states it",
            path=str(path),
            have=len(values),
            need=math.ceil(LEAST_BLOCKS * 4 / 3),
        )
    return float(np.median(early))


MOST_ROWS = 120
"""Blocks of what is normal: the last twenty minutes before an anomaly are the likeliest."""
METRICS_BLOCK_S = 10.0


def normal_metrics_of(path: Path, names: Sequence[str]) -> NDArray[np.float64]:
    """Metrics in the first three quarters of a ring by blocks of ten seconds: of totals, a second.

    Returns
    -------
    array, shape (blocks, metrics)
        Means of samples in which all are known; the last 120 blocks.
    """
    ring = read_ring(path)
    if not set(names) <= set(ring.names):
        return np.empty((0, len(names)))
    rows = np.column_stack([ring.column(name) for name in names])
    early = rows[: len(rows) * 3 // 4]
    fine = np.isfinite(early).all(axis=1)
    numbers = (ring.at_s[: len(early)][fine] // METRICS_BLOCK_S).astype(int)
    blocks = [early[fine][numbers == number].mean(axis=0) for number in np.unique(numbers)]
    return np.array(blocks[-MOST_ROWS:]).reshape(-1, len(names))


def normal_work_of(path: Path) -> float | None:
    """Processors that the application used in the first three quarters of a ring: the median over samples.

    None where the ring does not tell.
    """
    ring = read_ring(path)
    rates = ring.column("app.run_us")
    early = rates[: len(rates) * 3 // 4]
    early = early[np.isfinite(early)]
    return float(np.median(early)) / 1e6 if len(early) and np.median(early) > 0 else None
