"""What moved with latency in a ring, or how long it takes until that can be told."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hindmost.notes import Note
from hindmost.stats.causes.ranking import LEAST_BLOCKS, Moved, rank_metrics
from hindmost.watch.blocks import BLOCK_S, metrics_of, quantiles_of
from hindmost.watch.ring import Ring, read_ring

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLOW_SHARE = 0.3
"""Of the blocks that are ranked. A median regression fits the majority: among 20 independent blocks and 50
metrics, the one that moved by four standard deviations with a doubled latency comes first in 20 % of all
series with 3 slow blocks, in 41 % with 4, in 77 % with 5, in 97 % with 6; in 33 % with 6 of 40 blocks."""
LEAST_RATIO = 1.2
"""Of the last block to the median of all, beyond which it counts as slow."""


@dataclass(frozen=True, slots=True)
class Wait:
    """How many blocks a ranking still lacks.

    Attributes
    ----------
    have, need : int
    of : str
        ``with latency``, or ``slow``.
    block_s : float
    at_s : float
        When they will be there at the soonest, seconds since 1970, if it goes on as in the last block.
    """

    have: int
    need: int
    of: str
    block_s: float
    at_s: float

    @property
    def why(self) -> str:
        """The note as a sentence."""
        return self.note.text

    @property
    def note(self) -> Note:
        """Why metrics cannot be ranked yet.

        Examples
        --------
        >>> note = Wait(1, 6, "slow", 30.0, 0.0).note
        >>> note.code, note.text[:58]
        ('few-slow-blocks', 'a ranking needs 6 slow blocks of 30 s, but there is only 1')
        """
        there = "is" if self.have == 1 else "are"
        clock = time.strftime("%H:%M:%S", time.localtime(self.at_s))
        return Note(
            "few-slow-blocks" if self.of == "slow" else "few-blocks",
            f"a ranking needs {self.need} {self._blocks}, but there {there} only {self.have}; at the earliest"
            f" at {clock} ({(self.need - self.have) * self.block_s:g} s after the last block), if the watch"
            " still runs then",
            {"have": self.have, "need": self.need, "block_s": self.block_s, "at_s": self.at_s},
        )

    @property
    def _blocks(self) -> str:
        each = f"blocks of {self.block_s:g} s"
        return f"slow {each}" if self.of == "slow" else f"{each} {self.of}"


def rank_or_wait(
    ring: Ring, ends: NDArray[np.float64], values: NDArray[np.float64], block_s: float
) -> tuple[list[Moved], Wait | None]:
    """Rank metrics by how they moved with the latency, where there are blocks enough for that.

    An anomaly that has just begun is one or two blocks among many, and what comes first then is chance. Where
    the last block is slow, as many before it are taken as leave enough slow ones among them.

    Parameters
    ----------
    ends, values : array, shape (blocks,)
        Of whole blocks: their ends, seconds since 1970, and a quantile of each, microseconds; NaN without
        requests.

    Returns
    -------
    moved, wait
        One of them is empty.
    """
    known = np.flatnonzero(np.isfinite(values) & (values > 0))
    last = float(ends[-1]) if len(ends) else float(ring.at_s[-1]) if len(ring.at_s) else time.time()
    if len(known) < LEAST_BLOCKS:
        return [], _wait(len(known), LEAST_BLOCKS, "with latency", block_s, last)
    slow = _slow(values[known])
    if slow.any():
        # The longest stretch up to now of which enough is slow.
        lengths = np.arange(1, len(known) + 1)
        share = np.cumsum(slow[::-1]) / lengths
        enough = lengths[(lengths >= LEAST_BLOCKS) & (share >= SLOW_SHARE)]
        if not len(enough):
            have = int(slow[-LEAST_BLOCKS:].sum())
            return [], _wait(have, math.ceil(SLOW_SHARE * LEAST_BLOCKS), "slow", block_s, last)
        begin = known[-enough[-1]]
        ends, values = ends[begin:], values[begin:]
    return rank_metrics(values, metrics_of(ring, ends, block_s)), None


def _wait(have: int, need: int, of: str, block_s: float, last_s: float) -> Wait:
    return Wait(have, need, of, block_s, last_s + (need - have) * block_s)


def _slow(known: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which are nearer to the last, where that is slow, than to the median of all; none where it is not."""
    normal, now = float(np.median(known)), float(known[-1])
    return np.asarray((known > np.sqrt(normal * now)) & (now >= LEAST_RATIO * normal))


def moved_in(path: Path, q: float) -> tuple[list[Moved], Wait | None]:
    """What moved with a quantile of latency in a ring, by what it explains of it, or what that still lacks.

    By blocks of 30 s, also where these go together, as they do around every anomaly: the ranking's p keeps
    the autocorrelation.
    """
    ring = read_ring(path)
    ends, values = quantiles_of(ring, q)
    # The last block is not over yet.
    return rank_or_wait(ring, ends[:-1], values[:-1], BLOCK_S)
