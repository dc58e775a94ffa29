"""Service = wire + overhead: exactly for each stamped request, so nearly for the percentiles of all requests.

One request in four is stamped. If stamped requests differed from the others (for example the last of each batch), the
three medians would not add up.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from measuring import measure, need
from namespaces import other_namespace

from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

CLOSE = 0.04
"""Share of the service median. The sum of two medians is not the median of the sum: all attempts were -1.1 to +1.7 % off."""


def attempt(target: str, io: str, place: Path) -> Finding:
    """Measure once, and add up the medians."""
    options = ("--rate", "5k", "--runs", 1, "--duration", "2s", "--stamps", 4, "--clients", 1, "--io", io)
    answer = measure(target, place, *options)
    assert answer.code in (0, 4, 6), answer.err
    wire, overhead, service = (
        answer.result[f"{part}_us"]["p50"]["value"] for part in ("wire", "overhead", "service")
    )
    off = (wire + overhead) / service - 1.0
    figure = f"wire {wire:.1f} + overhead {overhead:.1f} us is {off:+.1%} off service {service:.1f}"
    return Finding(0.0 < wire < service and 0.0 < overhead < service and abs(off) < CLOSE, figure)


@pytest.mark.memcached
@pytest.mark.parametrize("io", ["epoll", "io_uring"])
def test_wire_and_overhead_add_up_to_service(io: str, claim: Claim, tmp_path: Path) -> None:
    need("memcached")
    tries = itertools.count()
    claim.settle(
        f"the medians of wire and overhead add up to that of service, on loopback by {io}",
        lambda: attempt("memcached", io, tmp_path / str(next(tries))),
        limits.MAX_INTERFERENCE_LOOSE,
    )


@pytest.mark.memcached
@pytest.mark.parametrize("io", ["epoll", "io_uring"])
def test_wire_and_overhead_add_up_to_service_on_a_link(io: str, claim: Claim, tmp_path: Path) -> None:
    need("memcached")
    tries = itertools.count()
    with other_namespace() as remote, remote.memcached() as target:
        claim.settle(
            f"the medians of wire and overhead add up to that of service, on a link by {io}",
            lambda: attempt(target, io, tmp_path / str(next(tries))),
            limits.MAX_INTERFERENCE_LOOSE,
        )
