"""A server that stands still for a second in one run: named, and neither called late sending nor saturated."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest
from measuring import finish, need, offspring, start, wait_for

FOR_S = 1.0
RATE = 5_000


def server_of(process_id: int, before: set[int]) -> int | None:
    """The memcached among the offspring of a measurement that was not there before."""
    found = [pid for pid, words in offspring(process_id).items() if words.startswith("memcached ")]
    return next((pid for pid in found if pid not in before), None)


@pytest.mark.memcached
def test_a_stopped_server_is_named_with_run_time_length_and_requests(tmp_path):
    need("memcached")
    out = tmp_path / "study"
    words = ("--rate", RATE, "--duration", "4s", "--warmup", "0.5s", "--runs", 3, "--remake", 0)
    process = start("measure", "memcached", "--json", "--out", out, *words, "--quantiles", "50,95,99")
    wait_for((out / "runs" / "0001").exists, "a finished run")
    wait_for(lambda: server_of(process.pid, set()), "the server of run 2")
    pid = server_of(process.pid, set())
    assert pid is not None
    time.sleep(3.0)  # start, keys, 0.5 s of warm-up, 0.5 s of calibration: within the measurement
    os.kill(pid, signal.SIGSTOP)
    time.sleep(FOR_S)
    os.kill(pid, signal.SIGCONT)
    answer = finish(process, out)
    codes = {reason["code"]: reason for reason in answer.result["reasons"]}
    told = re.findall(
        r"run 2 stood still from t = [\d.]+ s for ([\d.]+) (m?)s: ([\d,]+) requests waited",
        answer.result["headline"],
    )
    # In parts, where a client that was kept from running reads in its midst what had come before. As long as it
    # was stopped, and a host that is late to stop or to wake it may add to that.
    lengths = [float(length) / (1000 if milli else 1) for length, milli, _ in told]
    assert sum(lengths) > 0.9 * FOR_S, (answer.result["headline"], list(codes))
    waited = sum(int(waited.replace(",", "")) for _, _, waited in told)
    assert waited == pytest.approx(RATE * sum(lengths), rel=0.1)
    assert codes["server-stalled"]["level"] == "note"
    assert "rate-not-reached" not in codes
    assert answer.result["saturation"] is None
