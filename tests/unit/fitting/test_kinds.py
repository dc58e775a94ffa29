"""Laws of several kinds of requests also fit when they are combined."""

from dataclasses import replace

import numpy as np
import pytest

from hindmost.commands.clone.fit.laws.choice import Sample, choose_law
from hindmost.commands.clone.fit.laws.kinds import BIAS, Together, laws_by_kind, reduce_bias
from hindmost.commands.clone.fit.reading import Log

SHARE = 0.15
"""Share of the slow kind: p95 of all requests is in its middle."""


@pytest.fixture(scope="module")
def log():
    """A log of two kinds. The slow kind has two humps, and p95 of all requests lies between them."""
    draws = np.random.default_rng(4)
    n = 10_000
    slow = np.arange(n) % 20 < 20 * SHARE
    humps = np.where(np.arange(n) // 20 % 2, 500.0, 2_000.0) * np.exp(draws.normal(0.0, 0.05, n))
    us = np.where(slow, humps, 50.0 * np.exp(draws.normal(0.0, 0.3, n)))
    return Log("x", "", "", us, kind=slow.astype(np.int64), kinds=("fast", "slow"))


@pytest.fixture(scope="module")
def choices_by_kind(log):
    """Samples of all requests, and the choice of law for each kind."""
    whole = Sample.from_times(log.wall_us)
    own = [Sample.from_times(log.wall_us[log.kind == n], whole.block[log.kind == n]) for n in (0, 1)]
    return Together(whole, (1.0 - SHARE, SHARE)), [choose_law(sample) for sample in own]


def choose_by_name(choice, name):
    (candidate,) = (law for law in choice.candidates if law.name == name)
    return replace(choice, taken=replace(candidate, misfit=None))


def test_a_law_that_biases_p95_of_all_requests_is_replaced(choices_by_kind):
    together, (fast, slow) = choices_by_kind
    poor = [fast, choose_by_name(slow, "gamma")]
    bias = together.bias([choice.taken for choice in poor])
    assert bias.max() > 5 * BIAS
    first, second = reduce_bias(together, poor)
    assert first is fast.taken
    assert second.name != "gamma"
    assert together.bias([first, second]).max() < BIAS


def test_laws_that_fit_together_are_kept(choices_by_kind):
    together, choices = choices_by_kind
    assert reduce_bias(together, choices) == [choice.taken for choice in choices]


def test_a_law_that_lacks_its_tail_is_never_chosen(choices_by_kind):
    together, (fast, slow) = choices_by_kind
    poor = choose_by_name(slow, "gamma")
    lacking = tuple(replace(law, misfit=law.misfit or "lacks it") for law in poor.candidates)
    laws = reduce_bias(together, [fast, replace(poor, candidates=lacking)])
    assert laws[1].name == "gamma"


def test_the_laws_of_a_log_report_their_combined_error(log):
    parts, error = laws_by_kind(log, log.wall_us, Sample.from_times(log.wall_us))
    assert [part.name for part in parts] == ["fast", "slow"]
    assert sum(part.share for part in parts) == pytest.approx(1.0)
    assert 0.0 < error < 0.1


def test_a_kind_too_rare_for_a_law_is_not_separated(log):
    rare = replace(log, kind=(np.arange(log.n) < 900).astype(np.int64))
    assert laws_by_kind(rare, rare.wall_us, Sample.from_times(rare.wall_us)) == ((), None)
