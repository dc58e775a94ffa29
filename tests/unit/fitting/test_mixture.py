"""Mixtures on binned logarithms match those of all samples, and laws are proper distributions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import each_row

from hindmost.commands.clone.fit.bins import BinnedSamples, Grid
from hindmost.commands.clone.fit.laws.families import (
    Empirical,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    mean_matched,
)
from hindmost.commands.clone.fit.laws.mixture import fit_lognormals, improve
from hindmost.commands.clone.fit.laws.replay import latencies

from .planted import times_of


@each_row("application", ["shore", "moses", "xapian"])
def test_binning_changes_no_parameter_by_0_1_percent(application):
    logs = np.log(times_of(application, 20_000))
    binned = Grid.from_samples(logs).binned
    ordered_logs = np.sort(logs)
    whole = BinnedSamples(np.ones(ordered_logs.size), ordered_logs, ordered_logs * ordered_logs, 1e-12)
    start = fit_lognormals(binned, 3)[-1]
    from_bins = improve(binned, start, rounds=3_000, tolerance=1e-13)
    exact = improve(whole, start, rounds=3_000, tolerance=1e-13)
    for binned_law, exact_law in zip(from_bins.laws, exact.laws, strict=True):
        assert math.exp(binned_law.mu - exact_law.mu) == pytest.approx(1.0, abs=1e-3)
        assert binned_law.sigma == pytest.approx(exact_law.sigma, rel=1e-3)
    assert from_bins.weights == pytest.approx(exact.weights, rel=1e-3)


positive = st.floats(0.1, 1e5)
laws = st.one_of(
    st.builds(Lognormal, st.floats(-2, 12), st.floats(0.01, 2)),
    st.builds(Gamma, positive, st.floats(0.2, 500)),
    st.builds(
        lambda low, shape, reach: Pareto(low, shape, low + reach),
        st.floats(-2, 8),
        st.floats(1.1, 9),
        st.floats(0.1, 6),
    ),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 1), laws), min_size=1, max_size=4), positive)
def test_laws_are_distributions_and_keep_their_shape_when_their_mean_is_matched(parts, mean):
    total = sum(weight for weight, _ in parts)
    law = Mixture(tuple(weight / total for weight, _ in parts), tuple(law for _, law in parts))
    levels = np.linspace(0.001, 0.999, 200)
    times = law.quantile(levels)
    assert (np.diff(times) >= 0).all()
    matched = mean_matched(law, mean)
    assert matched.mean == pytest.approx(mean, rel=1e-9)
    assert matched.quantile(levels) == pytest.approx(times * mean / law.mean, rel=1e-2)
    assert sum(component["weight"] for component in law.document()) == pytest.approx(1.0, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(positive, min_size=2, max_size=400))
def test_an_empirical_law_is_monotonic_from_the_least_to_the_greatest_time(times):
    ordered = np.sort(times)
    law = Empirical.from_sorted(ordered)
    assert (law.us[0], law.us[-1]) == (ordered[0], ordered[-1])
    assert (np.diff(law.us) >= 0).all()
    assert law.p[0] == 0.0
    assert law.p[-1] == 1.0


def test_an_empirical_law_is_accurate_far_into_the_tail():
    us = np.sort(times_of("moses", 200_000))
    law = Empirical.from_sorted(us)
    levels = np.array([0.5, 0.9, 0.99, 0.999, 0.9999, 1 - 20 / us.size])
    assert law.quantile(levels) == pytest.approx(np.quantile(us, levels), rel=0.02)
    assert law.mean == pytest.approx(us.mean(), rel=2e-3)


def test_the_replay_follows_lindleys_recursion():
    draws = np.random.default_rng(1)
    gaps, demands = draws.exponential(1.2, 500), draws.exponential(1.0, 500)
    wait, expected = 0.0, []
    for place in range(500):
        if place:
            wait = max(0.0, wait + demands[place - 1] - gaps[place])
        expected.append(wait + demands[place])
    assert latencies(gaps, demands) == pytest.approx(expected)


def test_the_replay_gives_the_mean_of_m_m_1():
    from hindmost.commands.clone.fit.laws.replay import Replay

    law = Mixture((1.0,), (Gamma(100.0, 1.0, 1),))
    mean_us = np.mean([Replay(seed, 100_000).of_model(law, 100.0)[:, 0] for seed in range(6)], axis=0)
    # Sojourn time 1 / (1 - load); six replays estimate it to about 2 %.
    assert mean_us == pytest.approx([125.0, 200.0, 333.3], rel=0.06)
