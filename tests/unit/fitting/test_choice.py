"""The law is chosen by held-out latency, and rare slow components are kept."""

import numpy as np
import pytest

from hindmost.commands.clone.fit.laws.choice import Sample, choose_law
from hindmost.commands.clone.fit.laws.families import Empirical

from .planted import times_of


def choose_components(application, n, seed=1):
    law = choose_law(Sample.from_times(times_of(application, n, seed))).taken
    assert not isinstance(law.model, Empirical), law.name
    return [(component["weight"], component["law"]) for component in law.model.document()]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_component_of_one_in_1_000_is_found_in_20_000_requests(seed):
    (body, common), (rare, slow) = choose_components("silo", 20_000, seed)
    assert body + rare == pytest.approx(1.0)
    # About 20 requests: their share is known to +-45 %, their median (sigma .085) to 5 %.
    assert 0.0004 < rare < 0.0018
    assert slow["median_us"] == pytest.approx(59.6, rel=0.12)
    assert common["median_us"] == pytest.approx(16.14, rel=0.01)
    assert common["sigma_log"] == pytest.approx(0.288, rel=0.03)


def test_the_slow_requests_of_moses_are_kept_as_a_third_component():
    components = choose_components("moses", 40_000)
    assert [law["median_us"] for _, law in components] == pytest.approx([840, 1525, 11450], rel=0.3)
    assert [law["median_us"] for _, law in components[:2]] == pytest.approx([840, 1525], rel=0.01)
    assert 0.0002 < components[2][0] < 0.001


def test_three_components_far_apart_are_recovered():
    components = choose_components("shore", 20_000)
    assert [law["median_us"] for _, law in components] == pytest.approx([92.8, 432, 1900], rel=0.02)
    assert [law["sigma_log"] for _, law in components] == pytest.approx([0.163, 0.24, 0.124], abs=0.01)
    assert [weight for weight, _ in components] == pytest.approx([0.508, 0.45, 0.042], abs=0.012)


def test_a_single_lognormal_gets_no_more_parameters():
    ((weight, law),) = choose_components("img-dnn", 5_000)
    assert weight == 1.0
    assert law["median_us"] == pytest.approx(395, rel=0.002)


def test_a_shape_without_a_law_is_stored_as_measured():
    draws = np.random.default_rng(1)
    steps = draws.choice([10.0, 11.0, 50.0, 51.0, 200.0, 400.0], size=20_000) * draws.uniform(1, 1.02, 20_000)
    choice = choose_law(Sample.from_times(steps))
    assert choice.taken.name == "as measured"
    assert choice.taken.model.mean == pytest.approx(steps.mean(), rel=1e-9)


def test_the_mean_is_matched_exactly_by_every_candidate():
    us = times_of("xapian", 5_000)
    for candidate in choose_law(Sample.from_times(us)).candidates:
        assert candidate.model.mean == pytest.approx(us.mean(), rel=1e-9), candidate.name
