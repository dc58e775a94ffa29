"""Exit codes of a measurement: its verdict, and whether what was required holds."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindmost.cli.require import exit_code
from hindmost.plan import parse_threshold
from hindmost.stats import over_runs
from hindmost.store.estimates import written


def result(verdict="valid", value=400.0, low=390.0, high=410.0, runs=10):
    return {
        "verdict": verdict,
        "latency_us": {"p99": {"value": value, "low": low, "high": high, "runs": runs}},
    }


@pytest.mark.parametrize(("verdict", "code"), [("valid", 0), ("inconclusive", 4), ("invalid", 6)])
def test_the_verdict_is_the_exit_code(verdict, code):
    assert exit_code(result(verdict), [], Path("S")) == code


@pytest.mark.parametrize(
    ("value", "low", "high", "code"),
    [
        (400.0, 390.0, 410.0, 0),
        (400.0, 390.0, 499.9, 0),
        (400.0, 390.0, 500.0, 4),  # the interval reaches the limit
        (480.0, 450.0, 510.0, 4),
        (520.0, 499.9, 540.0, 4),
        (520.0, 500.0, 540.0, 3),
        (900.0, 890.0, 910.0, 3),
        (None, 390.0, None, 4),  # infinitely late in some run: at least 390 us
        (None, 510.0, None, 3),
        (None, None, None, 3),  # infinitely late in every run
        (400.0, None, None, 4),  # several runs without an interval decide nothing
        (500.0, None, None, 3),
    ],
)
def test_a_threshold_holds_is_crossed_or_is_undecided(value, low, high, code, capsys):
    found = exit_code(result("valid", value, low, high), [parse_threshold("p99<500us")], Path("S"))
    assert found == code
    said = capsys.readouterr()
    assert said.out == ""
    words = {0: "", 3: "does not hold", 4: "is undecided"}[code]
    assert words in said.err
    assert ("hint: " in said.err) == (code == 4)
    if code == 4:
        assert "hindmost measure --resume S --runs 20..40" in said.err


def test_an_inconclusive_measurement_can_still_cross_a_threshold():
    crossed = result("inconclusive", 900.0, 890.0, 910.0)
    assert exit_code(crossed, [parse_threshold("p99<500us")], Path("S")) == 3
    assert exit_code(result("inconclusive"), [parse_threshold("p99<500us")], Path("S")) == 4


def test_an_invalid_measurement_decides_nothing(capsys):
    assert exit_code(result("invalid", 900.0, 890.0, 910.0), [parse_threshold("p99<500us")], Path("S")) == 6
    assert capsys.readouterr().err == ""


def test_a_crossed_threshold_outweighs_an_undecided_one():
    asked = [parse_threshold("p99<400us"), parse_threshold("p99<300us")]
    assert exit_code(result(), asked, Path("S")) == 3
    assert exit_code(result(), asked[:1], Path("S")) == 4


def noisy(refused=None, **calm):
    """A raw p99 that nothing can be said of, and a calm one."""
    told = {"latency_us": {"p99": {"value": 90.0, "low": 85.0, "high": 95.0, "runs": 10}}, "refused": refused}
    return result("inconclusive", 5_000.0, 300.0, 9_000.0) | {"calm": told | {"verdict": "valid"} | calm}


@pytest.mark.parametrize(
    ("texts", "code", "said"),
    [
        (["calm p99<100us"], 0, ""),
        (["calm p99<90us"], 4, "calm p99 is 90 us, interval 85 to 95"),
        (["calm p99<80us"], 3, "calm p99 is 90 us"),
        (["p99<500us"], 4, "'p99<500us' is undecided: p99 is 5000 us"),
        (["calm p99<100us", "p99<500us"], 4, "'p99<500us' is undecided"),
    ],
)
def test_a_limit_on_calm_latency_is_decided_where_the_raw_one_is_not(texts, code, said, capsys):
    thresholds = [parse_threshold(text, calm_too=True) for text in texts]
    assert exit_code(noisy(), thresholds, Path("S")) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            noisy({"reason": "unwatched", "text": "nobody watched", "need": "root"}, latency_us={}),
            "nobody watched",
        ),
        (result("valid"), "did not look for thefts"),
    ],
)
def test_without_calm_latency_a_limit_on_it_is_undecided_with_the_reason_and_what_would_help(
    found, said, capsys
):
    assert exit_code(found, [parse_threshold("calm p99<500us", calm_too=True)], Path("S")) == 4
    told = capsys.readouterr().err
    assert said in told
    assert "hint: needed: " in told


def test_calm_limits_are_read_only_where_there_is_calm_latency():
    from hindmost.errors import UsageError

    with pytest.raises(UsageError, match="no calm latency"):
        parse_threshold("calm p99<500us")
    with pytest.raises(UsageError, match="no mean"):
        parse_threshold("calm mean<500us", calm_too=True)


def test_one_run_has_no_interval_and_its_value_decides():
    asked = [parse_threshold("p99<500us")]
    assert exit_code(result(low=None, high=None, runs=1), asked, Path("S")) == 0
    assert exit_code(result(value=600.0, low=None, high=None, runs=1), asked, Path("S")) == 3


def test_a_limit_that_holds_for_the_median_and_not_for_all_runs_says_so(capsys):
    found = result()
    found["runs"] = [{"run": n, "latency_us": {"p99": us}} for n, us in ((1, 400.0), (2, 9e3), (3, None))]
    assert exit_code(found, [parse_threshold("p99<500us")], Path("S")) == 0
    assert "2 of 3 lie above it (2, 3)" in capsys.readouterr().err


@given(
    st.lists(st.floats(1.0, 1e6), min_size=1, max_size=30),
    st.sampled_from(["median", "mean"]),
    st.floats(1.0, 1e6),
)
def test_what_holds_or_is_crossed_never_has_the_limit_in_its_interval(values, about, limit):
    one = over_runs(values, about)
    told = {"runs": len(values), **written(one)}
    document = {"verdict": "valid", "latency_us": {"p99": told}}
    code = exit_code(document, [parse_threshold(f"p99<{limit!r}us")], Path("S"))
    if one.known:
        assert (code == 0) == (one.high < limit)
        assert (code == 3) == (one.low >= limit)
