"""Properties of statistics of any sample of run values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindmost.stats import (
    PrecisionRule,
    find_owner,
    mean_interval,
    median_interval,
    modality,
    order_effect,
    run_value,
    variance_components,
)

latency = st.floats(min_value=0.1, max_value=1e7)
run_values = st.lists(latency, min_size=2, max_size=40)
censored_runs = st.lists(st.one_of(latency, st.just(math.inf)), min_size=1, max_size=40)
scale = st.floats(min_value=1e-3, max_value=1e3)


few_examples = settings(max_examples=25)


@few_examples
@given(censored_runs, st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_contain_their_value(values: list[float], confidence: float) -> None:
    for estimate in (mean_interval(values, confidence), median_interval(values, confidence)):
        assert estimate.n == len(values)
        if estimate.known:
            assert estimate.low <= estimate.value <= estimate.high
        assert str(estimate)


@few_examples
@given(run_values)
def test_the_skew_guard_never_shortens_an_interval(values: list[float]) -> None:
    guarded, plain = mean_interval(values), mean_interval(values, skew_guard=False)
    assert guarded.low <= plain.low
    assert guarded.high >= plain.high


@few_examples
@given(run_values)
def test_more_confidence_never_narrows_an_interval(values: list[float]) -> None:
    assert mean_interval(values, 0.99).half_width >= mean_interval(values, 0.9).half_width


@few_examples
@given(run_values, scale)
def test_intervals_scale_with_the_unit(values: list[float], factor: float) -> None:
    one, other = mean_interval(values), mean_interval([factor * v for v in values])
    size = factor * max(values)
    for attribute in ("value", "low", "high"):
        assert getattr(other, attribute) == pytest.approx(factor * getattr(one, attribute), abs=1e-7 * size)


@few_examples
@given(run_values, st.randoms())
def test_intervals_do_not_depend_on_the_order_of_runs(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = mean_interval(values), mean_interval(shuffled)
    assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=1e-7 * max(values))
    assert median_interval(values) == median_interval(shuffled) or len(values) < 6


@few_examples
@given(st.lists(st.one_of(latency, st.just(math.inf)), min_size=1, max_size=9))
def test_a_run_value_lies_between_its_clients(values: list[float]) -> None:
    for aggregate in ("mean", "median"):
        v = run_value(values, aggregate)
        assert min(values) * (1 - 1e-12) <= v <= max(values) * (1 + 1e-12)


@few_examples
@given(st.integers(1, 6), st.integers(1, 8), st.data())
def test_shares_sum_to_one(runs: int, clients: int, data: st.DataObject) -> None:
    count = st.integers(0, 10_000)
    above = np.array([[data.draw(count) for _ in range(clients)] for _ in range(runs)])
    result = find_owner(above, above + 1 + data.draw(st.integers(0, 100_000)))
    assert math.fsum(result.fair) == pytest.approx(1.0)
    assert not result.shares or math.fsum(result.shares) == pytest.approx(1.0)
    if result.owner is not None:
        assert result.shares[result.owner] > result.fair[result.owner]


@few_examples
@given(run_values, st.floats(0.0, 1e6))
def test_variance_components_are_a_partition(values: list[float], within: float) -> None:
    c = variance_components(values, [within] * len(values))
    assert c.between_sd is not None
    assert c.between_sd >= 0.0
    assert c.between_share is None or 0.0 <= c.between_share <= 1.0


@few_examples
@given(censored_runs)
def test_notes_never_fail(values: list[float]) -> None:
    note, effect = modality(values), order_effect(values)
    assert note is None or note.separation >= 1.0 - 1e-9
    assert effect is None or (0.0 <= effect.p_value <= 1.0 and -1.0 <= effect.tau <= 1.0)


@few_examples
@given(
    censored_runs,
    st.integers(1, 20),
    st.integers(0, 30),
    st.integers(1, 7),
    st.integers(1, 4),
    st.integers(1, 6),
    st.floats(0.001, 0.5),
)
def test_the_rule_always_stops_within_its_limits(
    values: list[float], low: int, extra: int, batch: int, consecutive: int, spacing: int, precision: float
) -> None:
    rule = PrecisionRule(precision, low, low + extra, batch, consecutive, spacing)
    runs, looks = 0, 0
    while True:
        run_values_so_far = [values[i % len(values)] for i in range(runs)]
        decision = rule.decide({"p99": run_values_so_far})
        if decision.stop:
            break
        assert decision.next_look is not None
        assert runs < decision.next_look <= rule.max_runs
        runs, looks = decision.next_look, looks + 1
    assert min(low, rule.first) <= runs <= rule.max_runs
    assert decision.reached == (decision.half_width <= precision)
