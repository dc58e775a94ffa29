"""A server that is stopped: every request scheduled meanwhile waits at least until its end, and the verdict names it.

The server is stopped repeatedly while the load lasts, so that the measurement contains several freezes whenever it
begins. ``tests/accuracy/test_freeze.py`` tests the exact length, and the effect of one freeze on percentiles.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from freezing import freeze_repeatedly
from measuring import finish, need, run_server, start

RATE, SECONDS, FREEZE_S, PAUSE_S = 1000, 2.5, 0.5, 0.7
CLOCKS_NS = 1_000_000
"""Largest difference when two processes read the wall clock and the monotonic clock one after the other."""
LOAD = ("--arrivals", "deterministic", "--duration", f"{SECONDS}s", "--warmup", "0.3s", "--runs", 1)


@pytest.mark.memcached
def test_every_request_scheduled_during_a_freeze_waits_for_its_end(tmp_path: Path) -> None:
    out = tmp_path / "study"
    with run_server(need("memcached")) as server:
        target = f"memcached://{server.address}"
        load = start("measure", target, "--out", out, "--rate", RATE, *LOAD, "--samples", 20_000, "--json")
        freezes = list(freeze_repeatedly([server.pid], load, FREEZE_S, PAUSE_S))
        answer = finish(load, out)
    assert answer.code in (0, 4, 6), answer.err
    client, rows = answer.study.client(), answer.study.samples()
    zero = (client["started_s"] + client["warmup_s"] + client["calibration"]["seconds"]) * 1e9
    scheduled, done = (rows[name].to_numpy() + zero for name in ("scheduled_ns", "completed_ns"))
    inside = [(b, e) for b, e in freezes if zero < b and e < zero + SECONDS * 1e9]
    assert inside, "the measurement is longer than the pauses between freezes"
    for begin, end in inside:
        during = (scheduled > begin + CLOCKS_NS) & (scheduled < end - CLOCKS_NS)
        # One request a millisecond is scheduled, even if the client has no CPU.
        assert abs(int(during.sum()) - (end - begin - 2 * CLOCKS_NS) * RATE / 1e9) <= 2
        assert np.all(done[during] > end - CLOCKS_NS), "a stopped server answers no request"
    reasons = {reason["code"]: reason for reason in answer.result["reasons"]}
    assert reasons["server-stalled"]["level"] == "note"
    for stall in reasons["server-stalled"]["values"]["stalls"]:
        assert stall["run"] == 1
        assert stall["requests"] >= 0.5 * RATE * stall["for_s"], stall
    assert max(stall["for_s"] for stall in reasons["server-stalled"]["values"]["stalls"]) > 0.5 * FREEZE_S
    assert answer.result["saturation"] is None
