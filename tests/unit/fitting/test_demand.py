"""Service demand is CPU time; the rest of the wall time is a disturbance by neighbours."""

import numpy as np
import pytest
from messages import raises

from hindmost.commands.clone.fit import fit_clone, read_log
from hindmost.commands.clone.fit.demand import demand
from hindmost.errors import Inconclusive

from .planted import back_to_back, by_code, times_of

N = 12_000


def write_log_with_gaps(tmp_path, gaps_us, seed=1):
    """Write a log in which one request of 40 has a gap; the gaps have this mean length."""
    draws = np.random.default_rng(seed)
    us = times_of("xapian", N, seed)
    gaps = np.where(draws.random(N) < 1 / 40, draws.exponential(gaps_us, N), 0.0)
    return us, gaps, back_to_back(tmp_path / "log.csv", us + gaps, cpu_ns=np.round(us * 1e3))


def test_gaps_become_a_disturbance_and_leave_the_law_alone(tmp_path):
    us, gaps, path = write_log_with_gaps(tmp_path, 4_000.0)
    fitted = fit_clone(read_log(path))
    assert fitted.demand.of == "cpu"
    assert fitted.demand.contaminated
    (gap,) = fitted.clone.document["disturbances"]
    hits = int((gaps > 5.0).sum())
    assert gap["scope"] == "thread"
    # The rate is per second of service. By the clock it is higher: gaps of the clone sometimes coincide.
    crowd = 1.0 + gaps.sum() / us.sum()
    assert gap["when"]["per_second"] == pytest.approx(crowd * hits / (us.sum() / 1e6), rel=0.01)
    low, high = fitted.clone.document["origin"]["intervals"]["disturbances[0].when.per_second"]
    assert low < crowd * N / 40 / (us.sum() / 1e6) < high
    assert fitted.clone.stopped_share == pytest.approx(gaps.sum() / (us.sum() + gaps.sum()), rel=0.05)
    assert fitted.clone.mean_busy_us == pytest.approx(us.mean(), rel=1e-3)


def test_a_log_that_is_mostly_its_neighbours_is_refused(tmp_path):
    _, _, path = write_log_with_gaps(tmp_path, 100_000.0)
    log = read_log(path)
    with raises(Inconclusive, "mostly-waiting", least=0.5) as caught:
        demand(log)
    assert caught.value.fields["value"] < 0.5
    assert demand(log, "cpu").of == "cpu"
    wall_demand = demand(log, "wall")
    assert by_code(wall_demand.notes)["contaminated-tail"].values == {
        "wall_over_cpu": wall_demand.wall_over_cpu
    }


def test_short_services_use_the_wall_clock(tmp_path):
    us = times_of("silo", N)
    log = read_log(back_to_back(tmp_path / "log.csv", us, cpu_ns=np.round(us * 1e3)))
    wall_demand = demand(log)
    assert wall_demand.of == "wall"
    assert by_code(wall_demand.notes)["short-cpu-times"].values["median_us"] < 20.0


def test_a_coarse_clock_is_noted(tmp_path):
    us = np.maximum(10.0, np.round(times_of("silo", N) / 10.0) * 10.0)
    log = read_log(back_to_back(tmp_path / "log.csv", us))
    note = by_code(demand(log).notes)["coarse-clock"]
    assert (note.values["clock"], note.values["step_us"]) == ("wall", pytest.approx(10.0))


def test_periodic_gaps_differ_from_random_gaps(tmp_path):
    from hindmost.commands.clone.fit.pauses.detection import find_pauses

    us = times_of("masstree", N)
    begin = np.cumsum(us)
    tick = np.floor(begin / 4_000.0)
    hit = np.diff(tick, prepend=0.0) > 0
    log = read_log(back_to_back(tmp_path / "log.csv", us + 60.0 * hit, cpu_ns=np.round(us * 1e3)))
    (gap,) = find_pauses(log, demand(log)).parts
    # Every 4,000 us of service, plus the gap of 60 us, plus 0.1 us between two requests.
    assert gap.every_us == pytest.approx(4_064, rel=0.01)
    assert gap.within_us[0] < gap.every_us < gap.within_us[1]
    at_random = read_log(write_log_with_gaps(tmp_path, 500.0)[2])
    assert find_pauses(at_random, demand(at_random)).parts[0].every_us is None


def test_three_gaps_are_noted_but_left_out_of_the_clone(tmp_path):
    us = times_of("xapian", N)
    wall = us.copy()
    wall[[5, 500, 5_000]] += 900.0
    fitted = fit_clone(read_log(back_to_back(tmp_path / "log.csv", wall, cpu_ns=np.round(us * 1e3))))
    assert "disturbances" not in fitted.clone.document
    note = by_code(fitted.unknown)["few-pauses"]
    assert (note.values["have"], note.values["longest_us"]) == (3, pytest.approx(900.0, abs=0.01))
