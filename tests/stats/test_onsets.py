"""Interruptions that a client cannot detect must not seem to follow or avoid the server's work."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.stats import Interruptions, Onsets, Service, interruption_dependence, isolated_latency
from hindmost.stats.requests.dependence import FALSE_ALARM
from tests.stats import interference_worlds as worlds

MEAN_NS, SPAN_NS = 100_000, 20_000_000_000
SERVICE = Service(0.3, 30_000.0, scv=1.0)


def requests(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scheduled and completion times of a server without interference."""
    scheduled = np.cumsum(random.exponential(MEAN_NS, SPAN_NS // MEAN_NS)).astype(np.int64)
    work = random.exponential(SERVICE.mean_ns, scheduled.size)
    # The server completes a request when it has done all work since it was last idle.
    total = np.cumsum(work)
    done = total + np.maximum.accumulate(scheduled - np.concatenate([[0.0], total[:-1]]))
    return scheduled, done.astype(np.int64)


def is_dependent(
    scheduled: np.ndarray, done: np.ndarray, interruptions: Interruptions, alike_ns: float
) -> bool:
    return (
        interruption_dependence(
            [Onsets.from_requests(scheduled, done, interruptions, SERVICE, alike_ns=alike_ns)]
        ).p
        <= FALSE_ALARM
    )


@pytest.mark.parametrize("alike_ns", [200_000.0, 0.0])
def test_short_interruptions_hidden_by_calls_do_not_seem_to_avoid_the_work(alike_ns):
    random = np.random.default_rng(7)
    scheduled, done = requests(random)
    short = np.sort(random.integers(0, SPAN_NS, 4_000))
    flying = np.searchsorted(scheduled, short) - np.searchsorted(np.sort(done), short)
    short = short[flying == 0]  # calls hide the others
    long = np.sort(random.integers(0, SPAN_NS, 400))
    interruptions = Interruptions.from_times(
        np.append(short, long), np.append(short + 50_000, long + 300_000)
    )
    assert not is_dependent(scheduled, done, interruptions, alike_ns)


@pytest.mark.parametrize(("seen_ns", "is_found"), [(1_100_000.0, False), (0.0, True)])
def test_undetectably_short_interruptions_that_begin_together_do_not_seem_to_follow_the_work(
    seen_ns, is_found
):
    random = np.random.default_rng(8)
    scheduled, done = requests(random)
    on = np.sort(random.integers(0, SPAN_NS, 400))
    for begin in on:  # the server was interrupted for half a millisecond before the client was
        first, last = np.searchsorted(scheduled, [begin - 500_000, begin])
        done[first:last] = np.maximum(done[first:last], begin + 300_000)
    assert (
        is_dependent(scheduled, done, Interruptions.from_times(on, on + 2_000_000, seen_ns=seen_ns), 0.0)
        is is_found
    )


@pytest.mark.parametrize(("alike_ns", "is_found"), [(200_000.0, True), (0.0, False)])
def test_many_short_interruptions_do_not_hide_a_quota(alike_ns, is_found):
    run = worlds.simulate_quota(0.5, 0.55, 10.0, 100_000, seed=3)
    short = np.sort(np.random.default_rng(9).integers(0, int(run.scheduled[-1]), 1_000))
    interruptions = Interruptions.from_times(np.append(short, run.on), np.append(short + 50_000, run.off))
    own = Service(0.5, worlds.SERVICE_NS, 1.0)
    dependence = interruption_dependence(
        [Onsets.from_requests(run.scheduled, run.done, interruptions, own, alike_ns=alike_ns)]
    )
    assert dependence.depends is is_found


@pytest.mark.parametrize(("increase", "depends"), [(0.04, False), (0.2, True)])
def test_a_small_dependence_does_not_count_however_certain(increase, depends):
    random = np.random.default_rng(1)
    tables = [Onsets(random.poisson(1.0, (1_000, 21)).astype(float), random.random((1_000, 21)))]
    tables[0].busy[:, 0] += increase
    result = interruption_dependence(tables)
    assert result.p <= FALSE_ALARM
    assert result.depends is depends


@pytest.mark.parametrize("rho", [0.3, 0.7])
def test_interruptions_that_begin_only_while_the_server_works_are_not_a_quota_and_do_no_harm(rho):
    """This is what a hypervisor does: it interrupts a guest only while it runs."""
    runs = [worlds.interrupt_busy_server(rho, 0.05, 300_000.0, 60_000, seed) for seed in range(2)]
    own = Service(rho, worlds.SERVICE_NS, 1.0)
    interruptions = [Interruptions.from_times(run.on, run.off) for run in runs]
    tables = [
        Onsets.from_requests(run.scheduled, run.done, spans, own)
        for run, spans in zip(runs, interruptions, strict=True)
    ]
    idle = np.vstack([table.flying for table in tables])
    assert (idle[:, 0] > 0.0).all()
    assert (idle[:, 1:] == 0.0).mean() > 0.2
    assert not interruption_dependence(tables).depends
    results = [
        isolated_latency(run.scheduled, run.done, spans, own, (0.5, 0.95, 0.99))
        for run, spans in zip(runs, interruptions, strict=True)
    ]
    p50, p95, p99 = (np.mean([result.quantiles[i].estimate.value for result in results]) for i in range(3))
    mean = worlds.SERVICE_NS / (1.0 - rho)
    assert [p50 / mean, p95 / mean, p99 / mean] == pytest.approx([0.6931, 2.9957, 4.6052], rel=0.06)
