"""Histograms through the bridge: lossless merging, rising quantiles, infinity for unanswered requests."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import each_row

from hindmost import Histogram

few_examples = settings(max_examples=25)
VALUES = st.lists(st.integers(min_value=0, max_value=2**62), min_size=1, max_size=60)
LEVELS = st.lists(st.floats(min_value=0.0, max_value=1.0), min_size=2, max_size=20)
RELATIVE_ERROR = 1 / 2048


def histogram_of(values, censored=0):
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    if censored:
        histogram.add_censored(censored)
    return histogram


def state(one):
    return (one.count, one.censored, one.min, one.max, one.mean, [bytes(part) for part in one.bins()])


@few_examples
@given(VALUES, VALUES, st.integers(0, 9), st.integers(0, 9))
def test_merging_is_recording_all(left, right, late_left, late_right):
    merged = histogram_of(left, late_left)
    merged.merge(histogram_of(right, late_right))
    whole = histogram_of(left + right, late_left + late_right)
    assert (merged.count, merged.censored) == (whole.count, whole.censored)
    assert [bytes(part) for part in merged.bins()] == [bytes(part) for part in whole.bins()]
    assert (merged.min, merged.max) == (whole.min, whole.max)
    for q in (0.0, 0.5, 0.99, 1.0):
        assert merged.quantile(q) == whole.quantile(q)


@few_examples
@given(VALUES, st.integers(0, 9))
def test_a_histogram_merged_with_itself_is_one_merged_with_its_replica(values, unanswered):
    one, other = histogram_of(values, unanswered), histogram_of(values, unanswered)
    one.merge(one)
    other.merge(histogram_of(values, unanswered))
    assert state(one) == state(other)
    assert one.count == 2 * (len(values) + unanswered)


@few_examples
@given(VALUES, VALUES, VALUES)
def test_merging_does_not_depend_on_the_order(a, b, c):
    one, other = histogram_of(a), histogram_of(c)
    one.merge(histogram_of(b))
    one.merge(histogram_of(c))
    other.merge(histogram_of(a))
    other.merge(histogram_of(b))
    assert state(one)[:4] == state(other)[:4]
    assert state(one)[5] == state(other)[5]


@few_examples
@given(VALUES)
def test_merging_leaves_the_source_unchanged(values):
    source = histogram_of(values, 3)
    before = state(source)
    into = histogram_of(values)
    into.merge(source)
    assert state(source) == before
    assert into.count == 2 * len(values) + 3


@few_examples
@given(VALUES, LEVELS, st.integers(0, 5))
def test_quantiles_rise(values, levels, censored):
    histogram = histogram_of(values, censored)
    quantiles = [histogram.quantile(q) for q in sorted(levels)]
    assert quantiles == sorted(quantiles)


@few_examples
@given(VALUES, st.floats(min_value=0.0, max_value=1.0))
def test_a_quantile_is_a_recorded_value_up_to_the_stated_error(values, q):
    quantiles = histogram_of(values).quantile(q)
    rank = max(1, math.ceil(q * len(values)))
    exact = sorted(values)[rank - 1]
    assert quantiles == pytest.approx(exact, rel=RELATIVE_ERROR, abs=0.5)


@few_examples
@given(VALUES, st.integers(1, 60))
def test_quantiles_that_reach_unanswered_requests_are_infinite(values, censored):
    histogram = histogram_of(values, censored)
    share = len(values) / (len(values) + censored)
    assert histogram.quantile(1.0) == math.inf
    assert math.isfinite(histogram.quantile(max(0.0, share - 1e-9)))
    if share + 1e-6 < 1.0:
        assert histogram.quantile(share + 1e-6) == math.inf
    assert histogram.count == len(values) + censored


@few_examples
@given(st.integers(1, 1000))
def test_without_any_answer_every_quantile_is_infinite(censored):
    histogram = histogram_of([], censored)
    assert {histogram.quantile(q) for q in (0.0, 0.5, 1.0)} == {math.inf}
    assert histogram.count_above(0) == censored


@few_examples
@given(VALUES, st.integers(0, 5))
def test_bins_hold_every_answered_request_once(values, censored):
    low, high, counts = (
        np.frombuffer(part, dtype=np.uint64) for part in histogram_of(values, censored).bins()
    )
    assert counts.sum() == len(values)
    assert (counts > 0).all()
    assert (low <= high).all()
    assert (low[1:] > high[:-1]).all()
    for value in values:
        assert ((low <= value) & (value <= high)).sum() == 1


@few_examples
@given(VALUES, st.integers(0, 2**62), st.integers(0, 5))
def test_fewer_lie_above_a_greater_value(values, edge, censored):
    histogram = histogram_of(values, censored)
    assert histogram.count_above(edge) >= histogram.count_above(edge * 2) >= censored
    assert histogram.count_above(2**64 - 1) == censored


@few_examples
@given(st.integers(0, 2**62), st.integers(1, 10**12))
def test_recording_many_at_once_is_recording_each(value, count):
    histogram = Histogram()
    histogram.record(value, count)
    assert histogram.count == count
    assert histogram.quantile(0.5) == histogram_of([value]).quantile(0.5)


@each_row("q", [-0.1, 1.1, math.nan, math.inf])
def test_levels_outside_zero_to_one_are_refused(q):
    with pytest.raises(ValueError):  # noqa: PT011 - the engine's errors have no codes
        histogram_of([1]).quantile(q)


@each_row("value", [-1, 2**64, 1.5, "x"])
def test_an_invalid_time_is_refused(value):
    with pytest.raises((OverflowError, TypeError)):
        Histogram().record(value)


def test_an_empty_histogram_has_no_statistics():
    empty = Histogram()
    assert (empty.count, empty.min, empty.max, empty.mean, empty.quantile(0.5)) == (0, None, None, None, None)
