"""Planted locks and slowdowns are found in simulated logs of 1, 2 and 4 threads."""

import json

import numpy as np
import pytest

from hindmost import _engine
from hindmost.commands.clone.fit import fit_clone
from hindmost.commands.clone.fit.reading import Log
from hindmost.commands.clone.fit.threads.sharing import with_sharing

from .planted import by_code

N = 3_000
LAW = {"kind": "lognormal", "median_us": 100.0, "sigma_log": 0.3}
MEAN = 100.0 * np.exp(0.045)


def simulate_log(threads, hold_us, stretch, seed):
    """Return the log of a server with a lock and a slowdown under load, at about 70 % load."""
    clone = {"schema": "hindmost.clone/1", "name": "planted", "service": [{"weight": 1.0, "law": LAW}]}
    document = {**with_sharing(clone, MEAN, hold_us, stretch), "threads": threads}
    per_s = 0.7 * threads / (MEAN * (1 + stretch / 2) * 1e-6)
    if hold_us:
        per_s = min(per_s, 0.8e6 / hold_us)
    design = {
        "points": [{"seed": seed, "load": {"rate_per_s": per_s}}],
        "arrivals": {"kind": "exponential"},
        "requests": N,
        "warmup": 0,
        "sections": 1,
        "quantiles": [0.5],
        "backlog": True,
    }
    columns = {
        name: np.frombuffer(column)
        for name, column in _engine.simulate_columns(json.dumps(document), json.dumps(design))
        if name != "kind"
    }
    order = np.argsort(columns["start_ns"], kind="stable")
    start, finish = columns["start_ns"][order] / 1e3, columns["finish_ns"][order] / 1e3
    return Log(
        f"{threads}.csv",
        "0" * 64,
        "end_ns - start_ns",
        finish - start,
        start_us=start - start[0],
        arrival_us=np.sort(columns["arrival_ns"])[:N] / 1e3 - start[0],
        thread=np.arange(N) % threads,
    )


def fit_logs(hold_us, stretch, counts=(1, 2, 4), seed=1):
    return fit_clone(*(simulate_log(threads, hold_us, stretch, seed + threads) for threads in counts))


def test_independent_threads_get_neither_lock_nor_slowdown():
    fit = fit_logs(0.0, 0.0, counts=(1, 4))
    assert "locks" not in fit.clone.document
    assert fit.clone.document["load"]["busy"] == 0.0
    assert by_code(fit.threads).keys() == {"no-sharing"}


def test_a_planted_lock_is_found_with_its_hold_time():
    fit = fit_logs(25.0, 0.0)
    (lock,) = fit.clone.document["locks"]
    assert lock["hold"]["us"] == pytest.approx(25.0, rel=0.15)
    low, high = fit.clone.document["origin"]["intervals"]["locks[0].hold.us"]
    assert low < 25.0 < high
    assert fit.clone.document["load"]["busy"] == pytest.approx(0.0, abs=0.03)
    # One thread is as fast as before: the time in the lock was subtracted from the service.
    assert fit.clone.mean_busy_us == pytest.approx(MEAN, rel=0.01)


def test_a_planted_slowdown_is_found_and_not_taken_for_a_lock():
    fit = fit_logs(0.0, 0.3, counts=(1, 4))
    assert "locks" not in fit.clone.document
    assert fit.clone.document["load"]["busy"] == pytest.approx(0.3, abs=0.03)
    low, high = fit.clone.document["origin"]["intervals"]["load.busy"]
    assert low < 0.3 < high


@pytest.mark.nightly
def test_a_lock_and_a_slowdown_are_separated():
    fit = fit_logs(20.0, 0.25)
    (lock,) = fit.clone.document["locks"]
    assert lock["hold"]["us"] == pytest.approx(20.0, rel=0.3)
    assert fit.clone.document["load"]["busy"] == pytest.approx(0.25, abs=0.06)


def test_one_thread_leaves_sharing_unknown():
    fit = fit_clone(simulate_log(1, 25.0, 0.0, 5))
    assert "locks" not in fit.clone.document
    assert "unknown-sharing" in by_code(fit.unknown)
