"""Work of a thread between two requests is estimated from requests that waited, and is in the clone."""

import numpy as np
import pytest

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.fit import fit_clone
from hindmost.commands.clone.fit.reading import Log
from hindmost.commands.clone.fit.turnaround import Turnaround, find_turnaround
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.core.notes import Note

BETWEEN_US = 8.0


def log_of_queue(**options):
    """Return the log of `simulate_queue` only."""
    return simulate_queue(**options)[0]


def simulate_queue(load=0.6, n=8_000, between=BETWEEN_US, taking=0.0, threads=1, stops=0.0, seed=3):
    """Return the log of a FCFS queue whose threads also work outside services, and the true latencies.

    Each service is followed by ``between``. With one thread, each arrival during other work takes ``taking``;
    later arrivals that come meanwhile are accepted with it, 2 us apart. The host stops every hundredth service
    for ``stops``.
    """
    random = np.random.default_rng(seed)
    service = random.lognormal(np.log(80.0), 0.5, n)
    mean = float(service.mean()) + between + taking
    arrival = np.cumsum(random.exponential(mean / (load * threads), n))
    after = between * random.lognormal(-0.02, 0.2, n)
    free, start, thread, wall = np.zeros(threads), np.zeros(n), np.zeros(n, dtype=np.int64), service.copy()
    stamp, until, accepted, free_at = arrival.copy(), -1.0, 0, np.zeros(n)
    for i in range(n):
        thread[i] = int(free.argmin())
        start[i] = max(arrival[i], free[thread[i]])
        wall[i] += stops if i % 100 == 0 else 0.0
        accepted = max(accepted, int(np.searchsorted(arrival, start[i], side="right")))
        while taking and accepted < n and arrival[accepted] < start[i] + wall[i] + after[i]:
            in_service = max(arrival[accepted], until) < start[i] + wall[i]
            if arrival[accepted] >= until:
                until = arrival[accepted] + taking
                if in_service:
                    wall[i] += taking
                else:
                    after[i] += taking
                stamp[accepted] = until
            else:
                stamp[accepted] = stamp[accepted - 1] + 2.0
            accepted += 1
        free[thread[i]] = free_at[i] = start[i] + wall[i] + after[i]
    latency = free_at - arrival
    arrival = stamp
    order = np.argsort(start, kind="stable")
    first = start[order][0]
    log = Log(
        "log.csv",
        "0" * 64,
        "end_ns - start_ns",
        wall[order],
        cpu_us=service[order] if taking else None,
        start_us=start[order] - first,
        arrival_us=arrival[order] - first,
        thread=thread[order],
    )
    return log, latency


@pytest.mark.parametrize("threads", [1, 3])
def test_the_time_between_requests_is_found(threads):
    turnaround = find_turnaround(log_of_queue(threads=threads, load=0.7))
    assert isinstance(turnaround, Turnaround)
    assert turnaround.arrival is None
    assert turnaround.between.low < BETWEEN_US < turnaround.between.high
    assert turnaround.between.high - turnaround.between.low < 0.1 * BETWEEN_US


def test_stops_of_a_thread_do_not_count_as_turnaround():
    log = log_of_queue()
    place = np.arange(log.n)
    start = log.start_us + 20_000.0 * (place // 400)  # a stop of 20 ms before every 400th request
    arrival = log.arrival_us + 20_000.0 * ((place - 1) // 400)
    stopped = Log("x", "", "", log.wall_us, start_us=start, arrival_us=arrival, thread=log.thread)
    assert find_turnaround(stopped).between.value == pytest.approx(BETWEEN_US, rel=0.03)


def test_a_log_without_waiting_leaves_the_turnaround_unknown():
    log = log_of_queue(load=0.01, n=4_000)
    note = find_turnaround(log)
    assert isinstance(note, Note)
    assert note.code == "unknown-turnaround"
    assert note.values["have"] < note.values["need"]
    assert note in fit_clone(log).unknown


def test_a_log_without_start_times_leaves_the_turnaround_unknown():
    note = find_turnaround(Log("x", "", "", np.full(5_000, 80.0)))
    assert (note.code, note.values["have"]) == ("unknown-turnaround", 0)


def test_the_clone_is_busy_during_turnaround():
    log = log_of_queue()
    fit = fit_clone(log)
    assert fit.clone.mean_busy_us == pytest.approx(float(log.wall_us.mean()) + BETWEEN_US, rel=0.01)
    assert fit.clone.document["note"] == fit.beside.note().text
    assert fit.beside.note().values["between_us"] == pytest.approx(BETWEEN_US, rel=0.05)


def test_the_costs_of_arrivals_and_replies_are_separated():
    log = log_of_queue(taking=20.0)
    turnaround = find_turnaround(log, log.cpu_us)
    assert turnaround.between.value == pytest.approx(BETWEEN_US, rel=0.05)
    assert turnaround.arrival.value == pytest.approx(20.0, rel=0.05)
    assert turnaround.arrival.low <= turnaround.arrival.value <= turnaround.arrival.high


def test_the_cost_of_arrivals_is_neither_service_nor_disturbance():
    log = log_of_queue(taking=20.0)
    fit = fit_clone(log)
    assert fit.clone.mean_busy_us == pytest.approx(float(log.cpu_us.mean()) + BETWEEN_US, rel=0.02)
    assert fit.clone.document["arrival_us"] == pytest.approx(20.0, rel=0.05)
    low, high = fit.clone.document["origin"]["intervals"]["arrival_us"]
    assert low < fit.clone.document["arrival_us"] < high
    assert fit.disturbance is None


def test_the_clone_of_a_server_interrupted_by_arrivals_has_its_latency():
    """The server spends 25 us on an arrival and 100 us on a service. Without the arrivals' part it would be 15 % early."""
    log, latency = simulate_queue(taking=25.0, n=30_000, load=0.7)
    clone = fit_clone(log).clone
    rate = 1e6 * log.n / log.span_us
    point = {"load": {"rate_per_s": rate}}
    prediction = run_points(clone, [point], Design(requests=100_000, seed=2))[0].prediction.latency_us
    truth = (float(latency.mean()), float(np.quantile(latency, 0.95)))
    # Both have an error of about 2 %: 30,000 requests at 70 % load.
    assert (prediction["mean"].value, prediction["p95"].value) == pytest.approx(truth, rel=0.06)


def test_stops_inside_services_are_separated_from_arrivals():
    log = log_of_queue(taking=20.0, stops=1_000.0)
    fit = fit_clone(log)
    assert fit.disturbance.hits == pytest.approx(log.n / 100, rel=0.1)
    assert float(np.median(fit.disturbance.lengths_us)) == pytest.approx(1_000.0, rel=0.05)
    # Arrivals at an idle thread are never delayed by stops.
    assert [disturbance["scope"] for disturbance in fit.clone.document["disturbances"]] == ["request"]


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_the_rate_for_a_busy_share_gives_that_share(share):
    service = [{"law": {"kind": "exponential", "mean_us": 100.0}}]
    clone = Clone.from_document(
        {
            "schema": "hindmost.clone/1",
            "name": "x",
            "service": service,
            "arrival_us": 25.0,
            "load": {"time": -0.3},
        }
    )
    point = {"load": {"rate_per_s": clone.rate_at(share)}}
    prediction = run_points(clone, [point], Design(requests=50_000))[0].prediction
    assert prediction.busy_share == pytest.approx(share, rel=0.02)


def test_rounded_stamps_do_not_count_as_turnaround():
    log = log_of_queue(between=0.0)
    # Stamps are whole nanoseconds, so the next start is a few of them after an end.
    wall = log.wall_us - 0.0005
    turnaround = find_turnaround(Log("x", "", "", wall, start_us=log.start_us, arrival_us=log.arrival_us))
    assert turnaround.between.value == 0.0
    assert "0.0005" not in str(turnaround)
