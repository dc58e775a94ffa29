"""Logs at several loads: the dependence on load is estimated with its interval, or noted as unknown."""

import numpy as np
import pytest

from hindmost.commands.clone.fit import fit_clone
from hindmost.commands.clone.fit.load import find_load
from hindmost.commands.clone.fit.reading import Log

from .planted import by_code


def make_log(share, time=0.0, n=6_000, seed=0, kinds=False):
    """Return a log of services of 100 us at this load; they take ``1 + time * load`` times as long."""
    random = np.random.default_rng([seed, int(100 * share)])
    factor = 1.0 / (1.0 - time * share)  # the load is the rate times this longer service
    arrival = np.cumsum(random.exponential(100.0 / share, n))
    service = random.lognormal(np.log(100.0) - 0.08, 0.4, n) * factor
    kind = random.integers(2, size=n) if kinds else None
    if kind is not None:
        service *= np.where(kind == 0, 0.5, 1.5)
    work = np.cumsum(service)
    # Lindley's recursion: a request waits for the longest stretch of earlier work.
    start = np.maximum.accumulate(arrival - work + service) + work - service
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
def test_the_dependence_is_found_and_removed_from_the_law(time, kinds):
    fit = fit_clone(*(make_log(share, time, kinds=kinds) for share in (0.2, 0.5, 0.65)))
    low, high = fit.clone.document["origin"]["intervals"]["load.time"]
    assert low < time < high
    assert fit.clone.document["load"]["time"] == pytest.approx(time, abs=0.05)
    # Without load, a service takes 100 us.
    assert fit.clone.mean_busy_us == pytest.approx(100.0, rel=0.03)
    assert fit.clone.document["origin"]["samples"] == 18_000


def test_a_dependence_within_chance_is_not_recorded():
    fit = fit_clone(*(make_log(share) for share in (0.2, 0.5, 0.7)))
    assert fit.clone.document["load"]["time"] == 0.0
    note = by_code(fit.unknown)["no-load-dependence"]
    assert note.values["low"] < 0.0 < note.values["high"]


def test_logs_at_one_load_leave_the_dependence_unknown():
    for logs in (
        (make_log(0.5, n=3_000),),
        (make_log(0.5, n=3_000), make_log(0.55, n=3_000)),
        (make_log(0.5, n=3_000), Log("x", "", "", np.full(5_000, 80.0) + np.arange(5_000) % 7)),
    ):
        fit = fit_clone(*logs)
        assert fit.clone.document["load"]["time"] == 0.0
        assert by_code(fit.unknown)["unknown-load-dependence"].values["logs"] == len(logs)


def test_intervals_cover_the_truth_95_times_in_100():
    covered = 0
    for seed in range(100):
        first, second, third = (make_log(share, -0.3, n=3_000, seed=seed + 1) for share in (0.2, 0.5, 0.65))
        us = np.concatenate([first.wall_us, second.wall_us, third.wall_us])
        dependence = find_load((first, second, third), us, np.repeat([0, 1, 2], 3_000), None, [0.0] * 3)
        covered += dependence.low < -0.3 < dependence.high
    # If each interval covers with 95 %, fewer than 88 of 100 have a probability of 0.4 %.
    assert covered >= 88, covered


def test_the_interval_covers_differences_between_logs():
    """The server is 4 % faster or slower in each log; sections of one log cannot show that."""
    covered, shares = 0, (0.2, 0.2, 0.4, 0.4, 0.6, 0.6)
    for seed in range(100):
        random = np.random.default_rng([seed, 9])
        logs = [
            make_log(share, -0.3, n=3_000, seed=10 * seed + number) for number, share in enumerate(shares)
        ]
        us = np.concatenate([part.wall_us * random.lognormal(0.0, 0.04) for part in logs])
        dependence = find_load(tuple(logs), us, np.repeat(np.arange(6), 3_000), None, [0.0] * 6)
        covered += dependence.low < -0.3 < dependence.high
    assert covered >= 88, covered
