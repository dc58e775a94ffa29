"""How many items make a piece of a batch: some seconds of a host's work, by what the last pieces took."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

PIECE_S = 2.0
"""Then its crossing, some milliseconds, is little next to it; and a lost piece is soon made up."""
LEAST_S = 0.1
"""At the end of a batch pieces shrink, so that hosts end together, but not below this."""
FIRST = 16
GROWTH = 4
"""The first pieces tell little of the next: a clone's capacity is found once a piece."""


@dataclass
class Sizes:
    """Sizes of pieces: for the slowest of late, since nobody knows yet whose the next will be.

    Parameters
    ----------
    under_way : int
        Pieces that hosts have at a time, all together.

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
        """A piece took so long on its host."""
        self._per_s.append(items / max(seconds, 1e-6))
        if len(self._per_s) > self.under_way:
            self._per_s.popleft()
        self._most = max(1, min(int(PIECE_S * min(self._per_s)), GROWTH * items))

    def next(self, left: int) -> int:
        """Of so many items that are left."""
        share = -(-left // (2 * self.under_way))
        least = int(LEAST_S * min(self._per_s, default=0.0))
        return max(1, min(self._most, max(share, least), left))
