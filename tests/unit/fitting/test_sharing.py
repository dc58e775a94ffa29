"""Locks and stretches planted in the simulator are found in its logs of 1, 2 and 4 threads."""

import json

import numpy as np
import pytest

from hindmost import _engine
from hindmost.models.fit import fit_clone
from hindmost.models.fit.reading import Log
from hindmost.models.fit.threads.sharing import with_sharing

from .planted import by_code

N = 3_000
LAW = {"kind": "lognormal", "median_us": 100.0, "sigma_log": 0.3}
MEAN = 100.0 * np.exp(0.045)


def log_of(threads, hold_us, stretch, seed):
    """What a server's log would say of a document with a lock and a stretch, at about 70 % load."""
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


def fitted(hold_us, stretch, counts=(1, 2, 4), seed=1):
    return fit_clone(*(log_of(threads, hold_us, stretch, seed + threads) for threads in counts))


def test_threads_that_share_nothing_get_neither_lock_nor_stretch():
    found = fitted(0.0, 0.0, counts=(1, 4))
    assert "locks" not in found.clone.document
    assert found.clone.document["load"]["busy"] == 0.0
    assert by_code(found.threads).keys() == {"no-sharing"}


def test_a_planted_lock_is_found_with_its_hold_time():
    found = fitted(25.0, 0.0)
    (lock,) = found.clone.document["locks"]
    assert lock["hold"]["us"] == pytest.approx(25.0, rel=0.15)
    low, high = found.clone.document["origin"]["intervals"]["locks[0].hold.us"]
    assert low < 25.0 < high
    assert found.clone.document["load"]["busy"] == pytest.approx(0.0, abs=0.03)
    # One thread takes as long as before: the lock's time was taken off the service.
    assert found.clone.mean_busy_us == pytest.approx(MEAN, rel=0.01)


def test_a_planted_stretch_is_found_and_is_no_lock():
    found = fitted(0.0, 0.3, counts=(1, 4))
    assert "locks" not in found.clone.document
    assert found.clone.document["load"]["busy"] == pytest.approx(0.3, abs=0.03)
    low, high = found.clone.document["origin"]["intervals"]["load.busy"]
    assert low < 0.3 < high


@pytest.mark.nightly
def test_lock_and_stretch_together_are_told_apart():
    found = fitted(20.0, 0.25)
    (lock,) = found.clone.document["locks"]
    assert lock["hold"]["us"] == pytest.approx(20.0, rel=0.3)
    assert found.clone.document["load"]["busy"] == pytest.approx(0.25, abs=0.06)


def test_one_thread_alone_tells_nothing_and_says_so():
    found = fit_clone(log_of(1, 25.0, 0.0, 5))
    assert "locks" not in found.clone.document
    assert "unknown-sharing" in by_code(found.unknown)
