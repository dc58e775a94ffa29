"""One cheap peer in the benchmark's own rounds: what it reports, what it costs, and what the capture shows."""

from __future__ import annotations

import math
import os
import shutil
import sys
from pathlib import Path

import pytest
from measuring import need_two_cpus

from benches.peers.contest import Contest, Setting, load
from benches.peers.redis_benchmark import REDIS_BENCHMARK
from hindmost.core.capture import find_capture_fault


@pytest.mark.nightly
@pytest.mark.redis
def test_a_peer_is_measured_and_its_traffic_is_captured_completely(tmp_path: Path) -> None:
    program = shutil.which("redis-benchmark")
    if program is None or shutil.which("redis-server") is None:
        pytest.skip(
            "redis-server or redis-benchmark is not installed: apt-get install redis-server redis-tools"
        )
    if fault := find_capture_fault():
        pytest.skip(f"nothing can be captured here: {fault.message}")
    server_cpu, client_cpu = need_two_cpus()
    path = tmp_path / "rounds.jsonl"
    before = os.sched_getaffinity(0)
    programs = {"redis-benchmark": program, "hindmost": str(Path(sys.executable).parent / "hindmost")}
    contest = Contest(path, Setting(1.0, 16, server_cpu, client_cpu), programs, {})
    assert contest.run([REDIS_BENCHMARK], 1, 0, math.inf)
    assert os.sched_getaffinity(0) == before
    _, rows = load(path)
    assert {row["mode"]: row.get("failure") for row in rows} == dict.fromkeys(["capacity", "flat", "heard"])
    by_mode = {row["mode"]: row for row in rows}
    flat, heard = by_mode["flat"], by_mode["heard"]
    assert 0.0 < flat["cpu_share"] <= 1.05
    requests = heard["report"]["requests"]
    assert heard["wire"]["replies"] == {"39": requests}, "$32, the value, and their line ends: every get hits"
    assert heard["wire"]["latency_us"]["p50"] <= heard["report"]["latency_us"]["p99"]
    assert contest.run([REDIS_BENCHMARK], 1, 0, math.inf), "a complete contest is not measured again"
    assert load(path)[1] == rows
