"""Batching at the client against a real server: what is held by design shows in latency and is no slip."""

from __future__ import annotations

from pathlib import Path

import pytest
from measuring import assert_counts_add_up, measure, need

LOAD = ("--clients", "1", "--connections", "2", "--rate", "4k", "--duration", "1s")
ONCE = ("--runs", "1", "--warmup", "0.5s", "--quantiles", "50,99")


@pytest.mark.memcached
def test_requests_due_within_an_interval_leave_together_and_wait_for_it_by_design(tmp_path: Path) -> None:
    need("memcached")
    answer = measure("memcached", tmp_path / "study", *LOAD, *ONCE, "--batching", "10ms")
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    batches, held = answer.result["batches"], answer.result["held_us"]
    assert batches["requested"] == 0.01
    # 2,000 requests a second on a connection, and a batch each 10 ms at most; fewer where the host was away.
    assert 18.0 < batches["requests_per_write"]["mean"] < 60.0, batches
    # A batch of 20 small requests is one segment.
    assert 12.0 < batches["requests_per_segment"] < 60.0, batches
    assert 2_000 < held["mean"]["value"] < 6_000, held
    assert held["p99"]["value"] < 10_100, held
    assert answer.result["latency_us"]["mean"]["value"] > held["mean"]["value"]
