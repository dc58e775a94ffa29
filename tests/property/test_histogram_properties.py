"""Histograms through the bridge: lossless merging, rising quantiles, infinity where nothing came back."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import each_row

from hindmost import Histogram

some = settings(max_examples=25)
VALUES = st.lists(st.integers(min_value=0, max_value=2**62), min_size=1, max_size=60)
LEVELS = st.lists(st.floats(min_value=0.0, max_value=1.0), min_size=2, max_size=20)
RELATIVE_ERROR = 1 / 2048


def of(values, censored=0):
    made = Histogram()
    for value in values:
        made.record(value)
    if censored:
        made.add_censored(censored)
    return made


def state(one):
    return (one.count, one.censored, one.min, one.max, one.mean, [bytes(part) for part in one.bins()])


@some
@given(VALUES, VALUES, st.integers(0, 9), st.integers(0, 9))
def test_merging_is_recording_all(left, right, late_left, late_right):
    merged = of(left, late_left)
    merged.merge(of(right, late_right))
    whole = of(left + right, late_left + late_right)
    assert (merged.count, merged.censored) == (whole.count, whole.censored)
    assert [bytes(part) for part in merged.bins()] == [bytes(part) for part in whole.bins()]
    assert (merged.min, merged.max) == (whole.min, whole.max)
    for q in (0.0, 0.5, 0.99, 1.0):
        assert merged.quantile(q) == whole.quantile(q)


@some
@given(VALUES, st.integers(0, 9))
def test_a_histogram_merged_with_itself_is_one_merged_with_its_replica(values, late):
    one, other = of(values, late), of(values, late)
    one.merge(one)
    other.merge(of(values, late))
    assert state(one) == state(other)
    assert one.count == 2 * (len(values) + late)


@some
@given(VALUES, VALUES, VALUES)
def test_merging_does_not_depend_on_the_order(a, b, c):
    one, other = of(a), of(c)
    one.merge(of(b))
    one.merge(of(c))
    other.merge(of(a))
    other.merge(of(b))
    assert state(one)[:4] == state(other)[:4]
    assert state(one)[5] == state(other)[5]


@some
@given(VALUES)
def test_merging_leaves_the_other_as_it_was(values):
    source = of(values, 3)
    before = state(source)
    into = of(values)
    into.merge(source)
    assert state(source) == before
    assert into.count == 2 * len(values) + 3


@some
@given(VALUES, LEVELS, st.integers(0, 5))
def test_quantiles_rise(values, levels, censored):
    made = of(values, censored)
    found = [made.quantile(q) for q in sorted(levels)]
    assert found == sorted(found)


@some
@given(VALUES, st.floats(min_value=0.0, max_value=1.0))
def test_a_quantile_is_a_recorded_value_up_to_the_stated_error(values, q):
    found = of(values).quantile(q)
    rank = max(1, math.ceil(q * len(values)))
    exact = sorted(values)[rank - 1]
    assert found == pytest.approx(exact, rel=RELATIVE_ERROR, abs=0.5)


@some
@given(VALUES, st.integers(1, 60))
def test_what_reaches_the_unanswered_is_infinitely_late_and_nothing_else(values, censored):
    made = of(values, censored)
    share = len(values) / (len(values) + censored)
    assert made.quantile(1.0) == math.inf
    assert math.isfinite(made.quantile(max(0.0, share - 1e-9)))
    if share + 1e-6 < 1.0:
        assert made.quantile(share + 1e-6) == math.inf
    assert made.count == len(values) + censored


@some
@given(st.integers(1, 1000))
def test_where_nothing_was_answered_everything_is_infinitely_late(censored):
    made = of([], censored)
    assert {made.quantile(q) for q in (0.0, 0.5, 1.0)} == {math.inf}
    assert made.count_above(0) == censored


@some
@given(VALUES, st.integers(0, 5))
def test_bins_hold_every_answered_request_once(values, censored):
    low, high, counts = (np.frombuffer(part, dtype=np.uint64) for part in of(values, censored).bins())
    assert counts.sum() == len(values)
    assert (counts > 0).all()
    assert (low <= high).all()
    assert (low[1:] > high[:-1]).all()
    for value in values:
        assert ((low <= value) & (value <= high)).sum() == 1


@some
@given(VALUES, st.integers(0, 2**62), st.integers(0, 5))
def test_fewer_lie_above_a_greater_value(values, edge, censored):
    made = of(values, censored)
    assert made.count_above(edge) >= made.count_above(edge * 2) >= censored
    assert made.count_above(2**64 - 1) == censored


@some
@given(st.integers(0, 2**62), st.integers(1, 10**12))
def test_recording_many_at_once_is_recording_each(value, count):
    made = Histogram()
    made.record(value, count)
    assert made.count == count
    assert made.quantile(0.5) == of([value]).quantile(0.5)


@each_row("q", [-0.1, 1.1, math.nan, math.inf])
def test_levels_outside_are_refused(q):
    with pytest.raises(ValueError):  # noqa: PT011 - the engine's errors have no codes
        of([1]).quantile(q)


@each_row("value", [-1, 2**64, 1.5, "x"])
def test_what_is_no_time_is_refused(value):
    with pytest.raises((OverflowError, TypeError)):
        Histogram().record(value)


def test_an_empty_one_knows_nothing():
    empty = Histogram()
    assert (empty.count, empty.min, empty.max, empty.mean, empty.quantile(0.5)) == (0, None, None, None, None)
