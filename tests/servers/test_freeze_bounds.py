"""A server that stands still: whoever was due meanwhile waited at least for its end, whatever the host adds.

How long exactly, and what percentiles become of it, is settled by ``tests/precision/test_freeze.py``.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from measuring import finish, need, offspring, running, start, state, wait_for

RATE, FREEZE_S = 1000, 0.3
CLOCKS_NS = 1_000_000
"""Wall clock and monotonic clock, read one after the other by two processes."""


def stopped(pid: int) -> bool:
    """Whether all of its threads stand still: each stops by itself, when it next has a processor."""
    return all(state(int(task.name)) == "T" for task in Path(f"/proc/{pid}/task").iterdir())


@pytest.mark.memcached
def test_every_request_due_while_the_server_stood_still_waited_for_its_end(tmp_path: Path) -> None:
    out = tmp_path / "study"
    words = (
        "--rate",
        RATE,
        "--arrivals",
        "deterministic",
        "--duration",
        "4s",
        "--warmup",
        "0.3s",
        "--runs",
        1,
    )
    with running(need("memcached")) as server:
        target = f"memcached://{server.address}"
        process = start("measure", target, "--out", out, *words, "--samples", 20_000, "--json")
        wait_for(
            lambda: any("agent instance" in line for line in offspring(process.pid).values()), "the load"
        )
        time.sleep(2.5)
        os.kill(server.pid, signal.SIGSTOP)
        wait_for(lambda: stopped(server.pid), "the server stands still")
        begin = time.time_ns()
        time.sleep(FREEZE_S)
        end = time.time_ns()
        os.kill(server.pid, signal.SIGCONT)
        answer = finish(process, out)
    assert answer.code in (0, 4, 6), answer.err
    one, rows = answer.study.instance(), answer.study.samples()
    zero = (one["started_s"] + one["warmup_s"] + one["calibration"]["seconds"]) * 1e9
    due = rows["due_ns"].to_numpy() + zero
    inside = (due > begin + CLOCKS_NS) & (due < end - CLOCKS_NS)
    if not inside.any():
        assert zero > begin or zero + 4e9 < end, "only a freeze outside of the measurement meets nobody"
        pytest.skip("the measurement began or ended before the freeze")
    done = rows["done_ns"].to_numpy() + zero
    assert np.all(done[inside] > end - CLOCKS_NS), "nobody is answered by a server that stands still"
    whole = begin > zero and end < zero + 4e9
    # One request a millisecond, due whether or not the client has a processor.
    assert not whole or abs(int(inside.sum()) - (end - begin - 2 * CLOCKS_NS) * RATE / 1e9) <= 2
