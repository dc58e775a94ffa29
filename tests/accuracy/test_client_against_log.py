"""What a client claims is what the server knows, but for a constant way between them."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from clones import ways

from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

CLOSE_US = 45.0
"""A request whose way took longer or shorter by this than the usual one was disturbed on it."""
SHARE = 0.88
"""A wake-up out of a halt takes 30 to 80 us on a virtual machine: within 30 us are 83 to 97 % on one that is calm."""
LONGEST_US = 150.0
"""Of the usual way: two system calls and a wake-up on either side take 20 to 60."""
GROWTH = 0.05
"""A way that takes more of it where the server takes longer is an error in proportion, as of a clock.

On a calm host it was -3.3 to -.4 %, and about 7 % where each latency was made 8 % too long."""


def growth(own: np.ndarray, way: np.ndarray) -> float:
    """How much longer the middle way is in the third that takes longest, by how much longer that takes."""
    order = np.argsort(own)
    short, long = order[: len(order) // 3], order[-(len(order) // 3) :]
    return float(
        (np.median(way[long]) - np.median(way[short])) / (np.median(own[long]) - np.median(own[short]))
    )


def test_a_clients_latency_is_the_servers_own_and_a_constant(claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()

    def attempt() -> Finding:
        own, way = ways(tmp_path / str(next(tries)))
        usual = float(np.median(way))
        close = float(np.mean(np.abs(way - usual) < CLOSE_US))
        grows = growth(own, way)
        figure = (
            f"the way takes {usual:.1f} us; {close:.1%} of {len(way)} are within {CLOSE_US:g} us of it;"
            f" it grows by {grows:+.1%} of what the server takes"
        )
        return Finding(close >= SHARE and 0.0 < usual < LONGEST_US and abs(grows) <= GROWTH, figure)

    claim.settle("a client's latency is the server's own and a constant", attempt, limits.BEARS_MORE)
