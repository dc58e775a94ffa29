"""Laws of several kinds are right when put together, too."""

from dataclasses import replace

import numpy as np
import pytest

from hindmost.models.fit.laws.choice import Sample, choose_law
from hindmost.models.fit.laws.kinds import BIAS, Together, laws_by_kind, reduce_bias
from hindmost.models.fit.reading import Log

SHARE = 0.15
"""Of the slow kind: p95 of all requests is the middle of it."""


@pytest.fixture(scope="module")
def served():
    """A log of two kinds; the slow one has two humps, and p95 of all requests lies among them."""
    draws = np.random.default_rng(4)
    n = 10_000
    slow = np.arange(n) % 20 < 20 * SHARE
    humps = np.where(np.arange(n) // 20 % 2, 500.0, 2_000.0) * np.exp(draws.normal(0.0, 0.05, n))
    us = np.where(slow, humps, 50.0 * np.exp(draws.normal(0.0, 0.3, n)))
    return Log("x", "", "", us, kind=slow.astype(np.int64), kinds=("fast", "slow"))


@pytest.fixture(scope="module")
def chosen(served):
    """Samples of all requests, and of each kind the choice."""
    whole = Sample.of(served.wall_us)
    own = [Sample.of(served.wall_us[served.kind == n], whole.block[served.kind == n]) for n in (0, 1)]
    return Together(whole, (1.0 - SHARE, SHARE)), [choose_law(one) for one in own]


def with_taken(choice, name):
    (taken,) = (one for one in choice.candidates if one.name == name)
    return replace(choice, taken=replace(taken, misfit=None))


def test_a_law_that_is_off_where_all_requests_have_their_p95_is_replaced(chosen):
    together, (fast, slow) = chosen
    poor = [fast, with_taken(slow, "gamma")]
    off = together.bias([one.taken for one in poor])
    assert off.max() > 5 * BIAS
    first, second = reduce_bias(together, poor)
    assert first is fast.taken
    assert second.name != "gamma"
    assert together.bias([first, second]).max() < BIAS


def test_laws_that_are_right_together_stay(chosen):
    together, choices = chosen
    assert reduce_bias(together, choices) == [one.taken for one in choices]


def test_a_law_that_lacks_its_tail_is_never_put_in(chosen):
    together, (fast, slow) = chosen
    poor = with_taken(slow, "gamma")
    lacking = tuple(replace(one, misfit=one.misfit or "lacks it") for one in poor.candidates)
    found = reduce_bias(together, [fast, replace(poor, candidates=lacking)])
    assert found[1].name == "gamma"


def test_the_parts_of_a_log_say_how_far_they_are_off_together(served):
    parts, error = laws_by_kind(served, served.wall_us, Sample.of(served.wall_us))
    assert [part.name for part in parts] == ["fast", "slow"]
    assert sum(part.share for part in parts) == pytest.approx(1.0)
    assert 0.0 < error < 0.1


def test_a_kind_too_rare_for_a_law_leaves_all_together(served):
    rare = replace(served, kind=(np.arange(served.n) < 900).astype(np.int64))
    assert laws_by_kind(rare, rare.wall_us, Sample.of(rare.wall_us)) == ((), None)
