"""Sizes of a batch's pieces: a few seconds of a host's work each, estimated from recent pieces."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

PIECE_S = 2.0
"""Duration of a piece in s: long compared with its transfer of some milliseconds, and short enough to repeat
if lost."""
LEAST_S = 0.1
"""Shortest duration of a piece in s: at the end of a batch pieces shrink, so that all hosts end together."""
FIRST = 16
GROWTH = 4
"""The first pieces say little about later ones: each computes a clone's capacity once."""


@dataclass
class Sizes:
    """Sizes of pieces, for the slowest recent host: any host may get the next piece.

    Parameters
    ----------
    under_way : int
        Pieces in progress on all hosts together.

    Examples
    --------
    >>> sizes = Sizes(under_way=4)
    >>> sizes.next(100_000)
    16
    >>> sizes.learn(16, 0.002)
    >>> sizes.next(100_000)
    64
    >>> sizes.learn(64, 0.064)
    >>> sizes.next(800)
    100
    """

    under_way: int
    _most: int = FIRST
    _per_s: deque[float] = field(default_factory=deque)

    def learn(self, items: int, seconds: float) -> None:
        """Record the duration of a piece on its host."""
        self._per_s.append(items / max(seconds, 1e-6))
        if len(self._per_s) > self.under_way:
            self._per_s.popleft()
        self._most = max(1, min(int(PIECE_S * min(self._per_s)), GROWTH * items))

    def next(self, left: int) -> int:
        """Return the size of the next piece, with this many items left."""
        share = -(-left // (2 * self.under_way))
        least = int(LEAST_S * min(self._per_s, default=0.0))
        return max(1, min(self._most, max(share, least), left))
