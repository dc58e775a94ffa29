"""Service = wire + overhead: of each stamped request exactly, so of the percentiles of all nearly.

Stamps are taken of one request in four. Were those others than the rest (those that a batch ends with, say), the middles
of the three would not fit together.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from measuring import measure, need
from namespaces import elsewhere

from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

CLOSE = 0.04
"""Of the middle of service: the sum of two medians is not the median of the sum, -1.1 to +1.7 % off it in all attempts."""


def attempt(target: str, io: str, place: Path) -> Finding:
    """Measure once, and add up the middles."""
    words = ("--rate", "5k", "--runs", 1, "--duration", "2s", "--stamps", 4, "--clients", 1, "--io", io)
    answer = measure(target, place, *words)
    assert answer.code in (0, 4, 6), answer.err
    wire, overhead, service = (
        answer.result[f"{what}_us"]["p50"]["value"] for what in ("wire", "overhead", "service")
    )
    off = (wire + overhead) / service - 1.0
    figure = f"wire {wire:.1f} + overhead {overhead:.1f} us is {off:+.1%} off service {service:.1f}"
    return Finding(0.0 < wire < service and 0.0 < overhead < service and abs(off) < CLOSE, figure)


@pytest.mark.memcached
@pytest.mark.parametrize("io", ["epoll", "io_uring"])
def test_wire_and_overhead_make_service(io: str, claim: Claim, tmp_path: Path) -> None:
    need("memcached")
    tries = itertools.count()
    claim.settle(
        f"the middles of wire and overhead make that of service, on loopback by {io}",
        lambda: attempt("memcached", io, tmp_path / str(next(tries))),
        limits.BEARS_MORE,
    )


@pytest.mark.memcached
@pytest.mark.parametrize("io", ["epoll", "io_uring"])
def test_wire_and_overhead_make_service_on_a_link(io: str, claim: Claim, tmp_path: Path) -> None:
    need("memcached")
    tries = itertools.count()
    with elsewhere() as there, there.memcached() as target:
        claim.settle(
            f"the middles of wire and overhead make that of service, on a link by {io}",
            lambda: attempt(target, io, tmp_path / str(next(tries))),
            limits.BEARS_MORE,
        )
