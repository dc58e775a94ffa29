"""What keeps a thread busy between two requests is found where requests waited, and is in the clone."""

import numpy as np
import pytest

from hindmost.models.fit import fit_clone
from hindmost.models.fit.reading import Log
from hindmost.models.fit.turnaround import Turnaround, find_turnaround

BETWEEN_US = 8.0


def queue_log(load=0.6, n=20_000, between=BETWEEN_US, taking=0.0, threads=1, stops=0.0, seed=3):
    """A log of a FCFS queue whose threads need some time beside each service.

    ``between`` after it; and ``taking`` for each request that arrives meanwhile; the host stops every
    hundredth service for ``stops``.
    """
    random = np.random.default_rng(seed)
    service = random.lognormal(np.log(80.0), 0.5, n)
    mean = float(service.mean()) + between + taking
    arrival = np.cumsum(random.exponential(mean / (load * threads), n))
    after = between * random.lognormal(-0.02, 0.2, n)
    free, start, thread, wall = np.zeros(threads), np.zeros(n), np.zeros(n, dtype=np.int64), service.copy()
    for i in range(n):
        thread[i] = int(free.argmin())
        start[i] = max(arrival[i], free[thread[i]])
        wall[i] += stops if i % 100 == 0 else 0.0
        met = int(np.searchsorted(arrival, start[i], side="right"))
        while taking and met < n and arrival[met] < start[i] + wall[i]:
            wall[i] += taking
            met += 1
        while taking and met < n and arrival[met] < start[i] + wall[i] + after[i]:
            after[i] += taking
            met += 1
        free[thread[i]] = start[i] + wall[i] + after[i]
    order = np.argsort(start, kind="stable")
    first = start[order][0]
    return Log(
        "log.csv",
        "0" * 64,
        "end_ns - start_ns",
        wall[order],
        cpu_us=service[order] if taking else None,
        start_us=start[order] - first,
        arrival_us=arrival[order] - first,
        thread=thread[order],
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_the_time_between_two_requests_is_found(threads):
    found = find_turnaround(queue_log(threads=threads, load=0.7))
    assert isinstance(found, Turnaround)
    assert found.low_us < BETWEEN_US < found.high_us
    assert found.high_us - found.low_us < 0.1 * BETWEEN_US


def test_threads_that_stood_still_are_no_writes():
    log = queue_log()
    place = np.arange(log.n)
    start = log.start_us + 20_000.0 * (place // 400)  # before every 400th request it stands still for 20 ms
    arrival = log.arrival_us + 20_000.0 * ((place - 1) // 400)
    stopped = Log("x", "", "", log.wall_us, start_us=start, arrival_us=arrival, thread=log.thread)
    assert find_turnaround(stopped).us == pytest.approx(BETWEEN_US, rel=0.03)


def test_a_log_in_which_nobody_waited_cannot_tell_and_says_so():
    log = queue_log(load=0.01, n=4_000)
    said = find_turnaround(log)
    assert isinstance(said, str)
    assert "half of the capacity" in said
    assert said in fit_clone(log).unknown


def test_a_log_without_moments_cannot_tell():
    assert "0 requests" in find_turnaround(Log("x", "", "", np.full(5_000, 80.0)))


def test_the_clone_is_busy_for_all_of_it():
    log = queue_log()
    clone = fit_clone(log).clone
    assert clone.mean_busy_us == pytest.approx(float(log.wall_us.mean()) + BETWEEN_US, rel=0.01)
    assert "beside the service" in clone.document["note"]


def test_what_an_arrival_takes_is_told_from_what_a_reply_takes():
    log = queue_log(taking=20.0)
    found = find_turnaround(log, log.cpu_us)
    assert found.between_us == pytest.approx(BETWEEN_US, rel=0.05)
    assert found.arrival_us == pytest.approx(20.0, rel=0.05)
    assert found.low_us <= found.us <= found.high_us


def test_what_arrivals_took_is_in_the_service_time_and_no_disturbance():
    log = queue_log(taking=20.0)
    fit = fit_clone(log)
    assert fit.clone.mean_busy_us == pytest.approx(float(log.cpu_us.mean()) + BETWEEN_US + 20.0, rel=0.02)
    assert fit.disturbance is None


def test_gaps_that_are_the_hosts_stay_disturbances_or_are_left_out_for_the_same_host():
    log = queue_log(taking=20.0, stops=1_000.0)
    fit = fit_clone(log)
    assert fit.disturbance.hits == pytest.approx(log.n / 100, rel=0.1)
    assert float(np.median(fit.disturbance.lengths_us)) == pytest.approx(1_000.0, rel=0.05)
    assert fit.clone.document["disturbances"]
    alone = fit_clone(log, disturbed=False)
    assert not alone.clone.document.get("disturbances")
    assert any("left out" in text for text in alone.unknown)
