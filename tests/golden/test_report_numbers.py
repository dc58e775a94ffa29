"""How numbers are formatted."""

import math

import pytest
from rows import each_row

from hindmost.commands.measure.view.wording import span
from hindmost.core.store.measure import Curve, Series
from hindmost.present import numbers
from hindmost.present.curves import grid, on_grid, thin_series
from hindmost.present.svg import linear_ticks, log_domain, log_ticks, tail
from hindmost.present.writing import hint_parts, keep_units


def plain(text: str) -> str:
    return text.replace(numbers.THIN, " ")


@each_row(
    ("value", "low", "high", "expected"),
    [
        (31.234, 30.1, 32.4, ("31.2", "30.1", "32.4", "±3.7 %")),
        (1250.0, 1249.0, 1251.0, ("1250", "1249", "1251", "±0.1 %")),
        (31.2, 31.17, 31.23, ("31.20", "31.17", "31.23", "±0.1 %")),
        (54321.0, 50000.0, 60000.0, ("54,321", "50,000", "60,000", "±9.2 %")),
        (0.0, 0.0, 0.0, ("0", "0", "0", "")),
        (math.inf, 131.0, math.inf, ("∞", "131", "∞", "")),
        (31.2, None, None, ("31.2", "–", "–", "")),
        (None, None, None, ("–", "–", "–", "")),
    ],
)
def test_a_value_and_its_interval_share_their_decimals(value, low, high, expected):
    assert tuple(plain(text) for text in numbers.interval(value, low, high)) == expected


@pytest.mark.parametrize("low", [4.0, 0.4, 0.04, 0.0004, 1e-9])
@pytest.mark.parametrize("high", [50.0, 2_641.0, 5e6])
def test_an_interval_of_a_positive_value_excludes_zero(low, high):
    """Two runs far apart have such an interval on the logarithmic scale."""
    written = plain(numbers.interval(42.0, low, high, numbers.unit_for([high])).low)
    assert float(written.strip("<")) > 0.0, written


def test_a_difference_that_excludes_zero_is_shown_so():
    shown = [plain(text) for text in numbers.interval(250.0, -300.0, -0.2)[:3]]
    assert shown == ["250", "−300", "−0.200"]


@each_row(
    ("us", "expected"),
    [
        (0.31, "0.310 µs"),
        (31.2, "31.2 µs"),
        (999.4, "999 µs"),
        (999.6, "1.00 ms"),
        (1250.0, "1.25 ms"),
        (2.5e6, "2.50 s"),
        (0.0, "0 µs"),
        (None, "–"),
        (math.inf, "∞"),
    ],
)
def test_latency_is_shown_in_a_suitable_unit(us, expected):
    assert plain(numbers.latency(us)) == expected


@each_row(
    ("share", "expected"),
    [
        (0.5, "50 %"),
        (0.423, "42 %"),
        (0.99974, "99.974 %"),
        (1.0, "100 %"),
        (0.0, "0 %"),
        (1 - 1e-9, ">99.999 %"),
    ],
)
def test_percent_never_rounds_to_100(share, expected):
    assert plain(numbers.percent(share)) == expected


def test_log_ticks_are_never_too_few_to_read():
    for low in (0.013, 0.9, 21.0, 87.0, 3e5):
        for factor in (2.0, 3.0, 10.0, 1e3, 1e6):
            assert 2 <= len(log_ticks(low, low * factor)) <= 13, (low, factor)


def test_axes_contain_their_values():
    low, high = log_domain([30.0, 31.0])
    assert low < 30 < 31 < high
    assert high / low >= 2
    assert linear_ticks(5.0, 5.0) == [5.0]


def test_every_nine_takes_the_same_width():
    steps = [tail(q) for q in (0.0, 0.9, 0.99, 0.999)]
    assert steps == pytest.approx([0, 1, 2, 3])


def test_resampling_on_its_own_grid_keeps_a_curve():
    curve = Curve(q=[0.0, 0.5, 0.9, 0.99], us=[10.0, 20.0, 40.0, None])
    assert on_grid(curve, curve.q) == [10.0, 20.0, 40.0, None]
    between = on_grid(curve, [0.7])[0]
    assert between is not None
    assert 20 < between < 40
    assert grid(curve.q, 100) == curve.q


def test_thinning_keeps_the_worst_window():
    p99 = [float(i % 7) for i in range(1000)]
    p99[617] = 500.0
    series = Series(
        run=1,
        t_s=[i / 10 for i in range(1000)],
        rate=[1.0] * 1000,
        p50_us=[1.0] * 1000,
        p99_us=p99,
        measure_from_s=2.0,
    )
    out = thin_series(series)
    assert len(out.t_s) == 200
    assert max(out.p99_us) == 500.0


@each_row(
    ("hint", "expected"),
    [
        ("hindmost host doctor", [(True, "hindmost host doctor")]),
        ("lower the rate", [(False, "lower the rate")]),
        ("use `--clients 2` or more", [(False, "use "), (True, "--clients 2"), (False, " or more")]),
        (None, []),
    ],
)
def test_commands_in_hints_are_found(hint, expected):
    assert hint_parts(hint) == expected


def test_a_span_names_its_unit_once():
    assert plain(span([0.40, 0.42], numbers.percent)) == "40–42 %"
    assert plain(span([950.0, 1200.0], numbers.latency)) == "950 µs–1.20 ms"
    assert span([None], numbers.percent) == "–"


def test_numbers_and_units_stay_together():
    assert keep_units("50,000/s within 72.3 µs, ±5 %") == "50,000/s within 72.3\u202fµs, ±5\u202f%"
    assert keep_units("runs 3 steady") == "runs 3 steady"
