"""A server that stands still: whoever was due meanwhile waited at least for its end, and the verdict names it.

It stands still again and again for as long as the load lasts, so that the measurement meets several of its freezes
whenever it begins. How long exactly, and what percentiles become of one, is settled by
``tests/accuracy/test_freeze.py``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from freezing import freeze_repeatedly
from measuring import finish, need, run_server, start

RATE, SECONDS, FREEZE_S, PAUSE_S = 1000, 2.5, 0.5, 0.7
CLOCKS_NS = 1_000_000
"""Wall clock and monotonic clock, read one after the other by two processes."""
WORDS = ("--arrivals", "deterministic", "--duration", f"{SECONDS}s", "--warmup", "0.3s", "--runs", 1)


@pytest.mark.memcached
def test_every_request_due_while_the_server_stood_still_waited_for_its_end(tmp_path: Path) -> None:
    out = tmp_path / "study"
    with run_server(need("memcached")) as server:
        target = f"memcached://{server.address}"
        load = start("measure", target, "--out", out, "--rate", RATE, *WORDS, "--samples", 20_000, "--json")
        stood_still = list(freeze_repeatedly([server.pid], load, FREEZE_S, PAUSE_S))
        answer = finish(load, out)
    assert answer.code in (0, 4, 6), answer.err
    one, rows = answer.study.client(), answer.study.samples()
    zero = (one["started_s"] + one["warmup_s"] + one["calibration"]["seconds"]) * 1e9
    scheduled, done = (rows[name].to_numpy() + zero for name in ("scheduled_ns", "completed_ns"))
    inside = [(b, e) for b, e in stood_still if zero < b and e < zero + SECONDS * 1e9]
    assert inside, "the measurement is longer than the pauses between freezes"
    for begin, end in inside:
        met = (scheduled > begin + CLOCKS_NS) & (scheduled < end - CLOCKS_NS)
        # One request a millisecond, due whether or not the client has a processor.
        assert abs(int(met.sum()) - (end - begin - 2 * CLOCKS_NS) * RATE / 1e9) <= 2
        assert np.all(done[met] > end - CLOCKS_NS), "nobody is answered by a server that stands still"
    reasons = {one["code"]: one for one in answer.result["reasons"]}
    assert reasons["server-stalled"]["level"] == "note"
    for stall in reasons["server-stalled"]["values"]["stalls"]:
        assert stall["run"] == 1
        assert stall["requests"] >= 0.5 * RATE * stall["for_s"], stall
    assert max(stall["for_s"] for stall in reasons["server-stalled"]["values"]["stalls"]) > 0.5 * FREEZE_S
    assert answer.result["saturation"] is None
