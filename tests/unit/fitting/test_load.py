"""Logs at several loads: what depends on the load is told from them, with its interval, or said to be unknown."""

import numpy as np
import pytest

from hindmost.models.fit import fit_clone
from hindmost.models.fit.load import find_load
from hindmost.models.fit.reading import Log

from .planted import by_code


def log(share, time=0.0, n=6_000, seed=0, kinds=False):
    """A log of services of 100 us, at such a load; they take ``1 + time * load`` times as long."""
    random = np.random.default_rng([seed, int(100 * share)])
    factor = 1.0 / (1.0 - time * share)  # the load is what services of that length make of the rate
    arrival = np.cumsum(random.exponential(100.0 / share, n))
    service = random.lognormal(np.log(100.0) - 0.08, 0.4, n) * factor
    kind = random.integers(2, size=n) if kinds else None
    if kind is not None:
        service *= np.where(kind == 0, 0.5, 1.5)
    worked = np.cumsum(
        service
    )  # Lindley's recursion: whoever is served waits for the longest stretch of work before
    start = np.maximum.accumulate(arrival - worked + service) + worked - service
    first = start[0]
    return Log(
        f"{share}.csv",
        "0" * 64,
        "end_ns - start_ns",
        service,
        start_us=start - first,
        arrival_us=arrival - first,
        kind=kind,
        kinds=("a", "b") if kinds else (),
    )


@pytest.mark.parametrize(("time", "kinds"), [(-0.3, False), (0.5, True)])
def test_the_dependence_is_found_and_taken_out_of_the_law(time, kinds):
    fitted = fit_clone(*(log(share, time, kinds=kinds) for share in (0.2, 0.5, 0.65)))
    low, high = fitted.clone.document["origin"]["intervals"]["load.time"]
    assert low < time < high
    assert fitted.clone.document["load"]["time"] == pytest.approx(time, abs=0.05)
    # Without load, a service takes 100 us again.
    assert fitted.clone.mean_busy_us == pytest.approx(100.0, rel=0.03)
    assert fitted.clone.document["origin"]["samples"] == 18_000


def test_what_is_no_more_than_chance_is_not_written_down():
    fitted = fit_clone(*(log(share) for share in (0.2, 0.5, 0.7)))
    assert fitted.clone.document["load"]["time"] == 0.0
    note = by_code(fitted.unknown)["no-load-dependence"]
    assert note.values["low"] < 0.0 < note.values["high"]


def test_logs_at_one_load_cannot_tell():
    for logs in (
        (log(0.5, n=3_000),),
        (log(0.5, n=3_000), log(0.55, n=3_000)),
        (log(0.5, n=3_000), Log("x", "", "", np.full(5_000, 80.0) + np.arange(5_000) % 7)),
    ):
        fitted = fit_clone(*logs)
        assert fitted.clone.document["load"]["time"] == 0.0
        assert by_code(fitted.unknown)["unknown-load-dependence"].values["logs"] == len(logs)


def test_ninety_five_of_a_hundred_intervals_hold_the_truth():
    held = 0
    for seed in range(100):
        one, two, three = (log(share, -0.3, n=3_000, seed=seed + 1) for share in (0.2, 0.5, 0.65))
        us = np.concatenate([one.wall_us, two.wall_us, three.wall_us])
        found = find_load((one, two, three), us, np.repeat([0, 1, 2], 3_000), None, [0.0] * 3)
        held += found.low < -0.3 < found.high
    # Fewer than 88 of 100 have a chance of 0.4 %, if each holds with 95 %.
    assert held >= 88, held


def test_with_several_logs_at_each_load_the_interval_knows_of_the_hours():
    """Each log of a server that is 4 % faster or slower than an hour before: sections of a log cannot see it."""
    held, shares = 0, (0.2, 0.2, 0.4, 0.4, 0.6, 0.6)
    for seed in range(100):
        random = np.random.default_rng([seed, 9])
        logs = [log(share, -0.3, n=3_000, seed=10 * seed + number) for number, share in enumerate(shares)]
        us = np.concatenate([one.wall_us * random.lognormal(0.0, 0.04) for one in logs])
        found = find_load(tuple(logs), us, np.repeat(np.arange(6), 3_000), None, [0.0] * 6)
        held += found.low < -0.3 < found.high
    assert held >= 88, held
