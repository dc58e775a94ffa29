"""Rates, times, shares, runs, percentiles and thresholds as text: parsed, or refused with a hint."""

import math

import pytest
from messages import raises
from rows import each_row

from hindmost.core.plan import parse_duration, parse_percent, parse_quantiles, parse_rate, parse_runs
from hindmost.core.plan.units import format_us, label
from hindmost.errors import UsageError


@each_row(
    ("text", "rate"),
    [
        ("1200", 1200.0),
        ("50k", 50_000.0),
        ("50K", 50_000.0),
        ("1.5M", 1.5e6),
        (" 20 k ", 20_000.0),
        ("2e4", 20_000.0),
        ("0.5", 0.5),
        ("100/s", 100.0),
        ("100M", 1e8),
    ],
)
def test_rates_are_parsed(text, rate):
    assert parse_rate(text) == pytest.approx(rate)


@each_row(
    "text",
    [
        "",
        "0",
        "-5",
        "-0",
        "nan",
        "inf",
        "-inf",
        "1e9",
        "101M",
        "fast",
        "5q",
        "5ms",
        "1,000",
        "0x10",
        "1e400",
        "k",
    ],
)
def test_impossible_rates_are_refused_with_an_example(text):
    with raises(UsageError, "bad-value", name="rate", value=text) as caught:
        parse_rate(text)
    assert "50k" in caught.value.hint


@each_row(
    ("text", "seconds"),
    [
        ("10s", 10.0),
        ("10", None),
        ("500ms", 0.5),
        ("500us", 5e-4),
        ("500µs", 5e-4),
        ("500ns", 5e-7),
        ("2m", 120.0),
        ("2min", 120.0),
        ("1h", 3600.0),
        ("1.5 s", 1.5),
        ("0s", 0.0),
        ("24h", 86_400.0),
        ("25h", None),
        ("-1s", None),
        ("nans", None),
        ("infs", None),
        ("1e99s", None),
        ("s", None),
        ("", None),
    ],
)
def test_times_need_a_unit_and_fit_in_a_day(text, seconds):
    if seconds is None:
        with raises(UsageError, "bad-value", name="duration", value=text):
            parse_duration(text)
    else:
        assert parse_duration(text) == pytest.approx(seconds)


def test_a_time_below_its_minimum_is_refused():
    with raises(UsageError, "bad-value", name="timeout", value="500us", least=0.001, most=86_400.0):
        parse_duration("500us", "timeout", 0.001)
    assert parse_duration("1ms", "timeout", 0.001) == pytest.approx(0.001)


@each_row(
    ("text", "share"),
    [("5%", 0.05), ("0.05", 0.05), ("99.9%", 0.999), ("0%", None), ("100%", None), ("1", None), ("5", None)],
)
def test_shares_are_strictly_between_0_and_1(text, share):
    if share is None:
        with raises(UsageError, "bad-value", name="precision", value=text):
            parse_percent(text)
    else:
        assert parse_percent(text) == pytest.approx(share)


@each_row(
    ("text", "runs"),
    [
        ("10..30", (10, 30)),
        ("10-30", (10, 30)),
        (" 5 ", (5, 5)),
        ("1", (1, 1)),
        ("7..7", (7, 7)),
        ("0", None),
        ("30..10", None),
        ("0..5", None),
        ("-3", None),
        ("3..", None),
        ("..3", None),
        ("2.5", None),
        ("nan", None),
        ("9999999", None),
        ("many", None),
    ],
)
def test_runs_are_one_number_or_a_rising_pair(text, runs):
    if runs is None:
        with raises(UsageError, "bad-value", name="runs", value=text):
            parse_runs(text)
    else:
        assert parse_runs(text) == runs


@each_row(
    ("text", "levels"),
    [
        ("50,95,99,99.9", (0.5, 0.95, 0.99, 0.999)),
        ("99.9, 50", (0.5, 0.999)),
        ("p99,p99", (0.99,)),
        ("99.999", (0.99999,)),
        ("0", None),
        ("100", None),
        ("nan", None),
        ("-1", None),
        ("50,,99", None),
        ("", None),
        ("median", None),
    ],
)
def test_percentiles_are_sorted_and_between_0_and_100(text, levels):
    if levels is None:
        with raises(UsageError, "bad-value", name="percentile"):
            parse_quantiles(text)
    else:
        assert parse_quantiles(text) == levels


@each_row(("level", "name"), [(0.5, "p50"), (0.999, "p99.9"), (0.99999, "p99.999"), (0.07, "p7")])
def test_levels_are_named_by_their_percentile(level, name):
    assert label(level) == name


@each_row(
    ("us", "text"),
    [
        (0.0, "0 µs"),
        (0.5, "0.5 µs"),
        (31.24, "31.2 µs"),
        (999.4, "999 µs"),
        (999.9, "1 ms"),
        (1460.0, "1.46 ms"),
        (2.5e6, "2.5 s"),
        (3.6e9, "3600 s"),
        (-185.2, "-185 µs"),
        (math.inf, "infinitely late"),
    ],
)
def test_microseconds_are_formatted_in_a_suitable_unit(us, text):
    assert format_us(us) == text
