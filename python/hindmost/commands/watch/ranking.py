"""Metrics of a ring ranked by how they follow its latency, or how long until they can be ranked."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hindmost.commands.watch.blocks import BLOCK_S, metrics_of, quantiles_of
from hindmost.commands.watch.document import MissingBlocks
from hindmost.commands.watch.ring import Ring, read_ring
from hindmost.stats.causes.ranking import LEAST_BLOCKS, MovedMetric, rank_metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLOW_SHARE = 0.3
"""Smallest share of slow blocks among the ranked blocks. A median regression fits the majority: among 20
independent blocks and 50 metrics, the metric that moved by four standard deviations with a doubled latency
ranks first in 20 % of series with 3 slow blocks, in 41 % with 4, in 77 % with 5, in 97 % with 6; in 33 % with
6 of 40."""
LEAST_RATIO = 1.2
"""Ratio of the last block to the median of all blocks from which it counts as slow."""


def rank_or_wait(
    ring: Ring, ends: NDArray[np.float64], values: NDArray[np.float64], block_s: float
) -> tuple[list[MovedMetric], MissingBlocks | None]:
    """Rank metrics by how they follow the latency, or say which blocks are missing for that.

    A new anomaly is one or two blocks among many, and the top of the ranking is then random. If the last
    block is slow, the longest series of blocks before it is used in which enough are slow.

    Parameters
    ----------
    ends, values : array, shape (blocks,)
        Ends of complete blocks, seconds since 1970, and a latency quantile of each block, µs; NaN in blocks
        without requests.

    Returns
    -------
    moved, wait
        Exactly one of them is empty or None.
    """
    known = np.flatnonzero(np.isfinite(values) & (values > 0))
    last = float(ends[-1]) if len(ends) else float(ring.at_s[-1]) if len(ring.at_s) else time.time()
    if len(known) < LEAST_BLOCKS:
        return [], _wait(len(known), LEAST_BLOCKS, "with latency", block_s, last)
    slow = _slow(values[known])
    if slow.any():
        # The longest series up to now in which enough blocks are slow.
        lengths = np.arange(1, len(known) + 1)
        share = np.cumsum(slow[::-1]) / lengths
        enough = lengths[(lengths >= LEAST_BLOCKS) & (share >= SLOW_SHARE)]
        if not len(enough):
            have = int(slow[-LEAST_BLOCKS:].sum())
            return [], _wait(have, math.ceil(SLOW_SHARE * LEAST_BLOCKS), "slow", block_s, last)
        begin = known[-enough[-1]]
        ends, values = ends[begin:], values[begin:]
    return rank_metrics(values, metrics_of(ring, ends, block_s)), None


def _wait(have: int, need: int, of: str, block_s: float, last_s: float) -> MissingBlocks:
    left_s = (need - have) * block_s
    clock = time.strftime("%H:%M:%S", time.localtime(last_s + left_s))
    blocks = f"slow blocks of {block_s:g} s" if of == "slow" else f"blocks of {block_s:g} s {of}"
    return MissingBlocks(
        have=have,
        need=need,
        of=of,
        block_s=block_s,
        at_s=last_s + left_s,
        why=f"a ranking needs {need} {blocks}, but there {'is' if have == 1 else 'are'} only {have}; at the"
        f" earliest at {clock} ({left_s:g} s after the last block), if the watch still runs then",
        code="few-slow-blocks" if of == "slow" else "few-blocks",
    )


def _slow(known: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark blocks closer (by ratio) to the last block than to the median, if the last block is slow."""
    normal, now = float(np.median(known)), float(known[-1])
    return np.asarray((known > np.sqrt(normal * now)) & (now >= LEAST_RATIO * normal))


def rank_ring(path: Path, q: float) -> tuple[list[MovedMetric], MissingBlocks | None]:
    """Rank metrics by how much of a latency quantile they explain in a ring, or say which blocks are missing.

    Blocks last 30 s even where neighbouring blocks are correlated, as around every anomaly: the ranking's
    p-value accounts for autocorrelation.
    """
    ring = read_ring(path)
    ends, values = quantiles_of(ring, q)
    # The last block is incomplete.
    return rank_or_wait(ring, ends[:-1], values[:-1], BLOCK_S)
