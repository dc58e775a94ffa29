"""What a client cannot see must not look like thefts that follow or avoid the server's work."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.stats import Onsets, Service, Thefts, theft_dependence

MEAN_NS, SPAN_NS = 100_000, 20_000_000_000
SERVICE = Service(0.3, 30_000.0, scv=1.0)


def requests(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Due and done times of a server that is never stolen from."""
    due = np.cumsum(random.exponential(MEAN_NS, SPAN_NS // MEAN_NS)).astype(np.int64)
    work = random.exponential(SERVICE.mean_ns, due.size)
    free = 0.0
    done = np.empty(due.size, dtype=np.int64)
    for i, (at, takes) in enumerate(zip(due, work, strict=True)):
        free = max(free, float(at)) + takes
        done[i] = int(free)
    return due, done


def depends(due: np.ndarray, done: np.ndarray, thefts: Thefts, alike_ns: float) -> bool:
    return theft_dependence([Onsets.of(due, done, thefts, SERVICE, alike_ns=alike_ns)]).depends


@pytest.mark.parametrize(("alike_ns", "found"), [(200_000.0, False), (0.0, True)])
def test_short_thefts_that_calls_hide_do_not_seem_to_avoid_the_work(alike_ns, found):
    random = np.random.default_rng(7)
    due, done = requests(random)
    short = np.sort(random.integers(0, SPAN_NS, 4_000))
    flying = np.searchsorted(due, short) - np.searchsorted(np.sort(done), short)
    short = short[flying == 0]  # what a call hid
    long = np.sort(random.integers(0, SPAN_NS, 400))
    thefts = Thefts.of(np.append(short, long), np.append(short + 50_000, long + 300_000))
    assert depends(due, done, thefts, alike_ns) is found


@pytest.mark.parametrize(("seen_ns", "found"), [(1_100_000.0, False), (0.0, True)])
def test_thefts_too_short_to_be_seen_that_begin_with_others_do_not_seem_to_follow_the_work(seen_ns, found):
    random = np.random.default_rng(8)
    due, done = requests(random)
    on = np.sort(random.integers(0, SPAN_NS, 400))
    for at in on:  # the server stood still for half a millisecond before the client did
        first, last = np.searchsorted(due, [at - 500_000, at])
        done[first:last] = np.maximum(done[first:last], at + 300_000)
    assert depends(due, done, Thefts.of(on, on + 2_000_000, seen_ns=seen_ns), 0.0) is found
