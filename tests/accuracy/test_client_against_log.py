"""The client's latency equals the time in the server's log plus a constant path between them."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from clones import measure_paths

from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

CLOSE_US = 45.0
"""A request whose path differs from the median path by more than this was disturbed on it."""
SHARE = 0.88
"""A wake-up from halt takes 30 to 80 us on a virtual machine: on a quiet one, 83 to 97 % are within 30 us."""
LONGEST_US = 150.0
"""Longest median path: two system calls and a wake-up on either side take 20 to 60 us."""
GROWTH = 0.05
"""A path that grows with the server's time is a proportional error, as of a clock.

On a quiet host it was -3.3 to -.4 %, and about 7 % where each latency was made 8 % too long."""


def growth(own: np.ndarray, path: np.ndarray) -> float:
    """Growth of the median path from the fastest to the slowest third of requests, per growth of the server's time."""
    order = np.argsort(own)
    short, long = order[: len(order) // 3], order[-(len(order) // 3) :]
    return float(
        (np.median(path[long]) - np.median(path[short])) / (np.median(own[long]) - np.median(own[short]))
    )


def test_a_clients_latency_is_the_servers_own_and_a_constant(claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()

    def attempt() -> Finding:
        own, path = measure_paths(tmp_path / str(next(tries)))
        usual = float(np.median(path))
        close = float(np.mean(np.abs(path - usual) < CLOSE_US))
        grows = growth(own, path)
        figure = (
            f"the path takes {usual:.1f} us; {close:.1%} of {len(path)} are within {CLOSE_US:g} us of it;"
            f" it grows by {grows:+.1%} of the server's time"
        )
        return Finding(close >= SHARE and 0.0 < usual < LONGEST_US and abs(grows) <= GROWTH, figure)

    claim.settle(
        "a client's latency is the server's time plus a constant", attempt, limits.MAX_INTERFERENCE_LOOSE
    )
