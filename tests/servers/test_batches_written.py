"""Batching at the client against a real server: the wait for a batch counts as latency, not as send delay."""

from __future__ import annotations

from pathlib import Path

import pytest
from measuring import assert_counts_add_up, measure, need

LOAD = ("--clients", "1", "--connections", "2", "--rate", "4k", "--duration", "1s")
ONCE = ("--runs", "1", "--warmup", "0.5s", "--quantiles", "50,99")


@pytest.mark.memcached
def test_requests_scheduled_within_an_interval_leave_together_and_wait_for_it(tmp_path: Path) -> None:
    need("memcached")
    answer = measure("memcached", tmp_path / "study", *LOAD, *ONCE, "--batching", "10ms")
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    batches, waits = answer.result["batches"], answer.result["held_us"]
    assert batches["requested"] == 0.01
    # 2,000 requests a second on a connection, and at most one batch each 10 ms; fewer if the host was interrupted.
    assert 18.0 < batches["requests_per_write"]["mean"] < 60.0, batches
    # A batch of 20 small requests is one segment.
    assert 12.0 < batches["requests_per_segment"] < 60.0, batches
    assert 2_000 < waits["mean"]["value"] < 6_000, waits
    assert waits["p99"]["value"] < 10_100, waits
    assert answer.result["latency_us"]["mean"]["value"] > waits["mean"]["value"]
