"""Limits against measurements: held, crossed or undecided, by interval and by what may have bent the figure."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from hindmost.stats import middle_interval
from hindmost.stats.runs.limit import Distortion, is_robust, judge
from hindmost.studies.measure.limits import exit_code, judge_limits
from hindmost.studies.measure.limits.requests import RequestFigures

AGAIN = "hindmost measure --resume S"
NEAR = [396.0, 398.0, 400.0, 402.0, 404.0, 399.0, 401.0, 397.0, 403.0, 400.0]
"""Ten runs around 400 us; the interval of their median is [397, 403]."""
CODES = {"held": 0, "crossed": 3, "undecided": 4}


def run(number: int, us: float | None, isolated: float | None = None, **counts: int) -> dict[str, Any]:
    told = {
        "scheduled": 10_000,
        "completed": 10_000,
        "misses": 0,
        "errors": 0,
        "timeouts": 0,
        "unsent": 0,
    } | counts
    return {
        "run": number,
        "latency_us": {"p50": 100.0, "p99": us, "mean": 150.0},
        "throughput": {"requested": 1000.0, "achieved": told["completed"] / 10.0},
        "counts": told,
        "isolated": None
        if isolated is None
        else {"isolated_us": {"p99": {"value": isolated, "low": None, "high": None}}},
    }


def reason(code: str, level: str = "inconclusive", *labels: str) -> dict[str, Any]:
    return {
        "code": code,
        "level": level,
        "text": f"{code} it was; more",
        "hint": f"mend {code}",
        "labels": [*labels],
    }


def measured(
    p99: list[float | None] = NEAR,  # type: ignore[assignment]
    *reasons: dict[str, Any],
    isolated: list[float] | None = None,
    taken: float = 0.05,
    **counts: int,
) -> dict[str, Any]:
    runs = [run(n, us, isolated[n - 1] if isolated else None, **counts) for n, us in enumerate(p99, 1)]
    return {
        "runs": runs,
        "reasons": list(reasons),
        "over_runs": {"about": "median"},
        "isolated": isolated
        and {"refused": None, "interference_share": taken, "latency_us": {"p99": {"verdict": "valid"}}},
    }


def limit(document: dict[str, Any], text: str) -> dict[str, Any]:
    (one,) = judge_limits(document, [text], AGAIN)  # type: ignore[arg-type]
    return one  # type: ignore[return-value]


@each_row(
    ("text", "result"),
    [
        ("p99<500us", "held"),
        ("p99<403.1us", "held"),
        ("p99<403us", "undecided"),  # the interval reaches it
        ("p99<400us", "undecided"),
        ("p99<397us", "crossed"),
        ("p99<300us", "crossed"),
        ("p99>300us", "held"),
        ("p99>397us", "undecided"),
        ("p99>403us", "crossed"),
        ("mean<1ms", "held"),
        ("p50<50us", "crossed"),
        ("errors<1%", "held"),
        ("errors<0.001%", "undecided"),  # none of 100,000 failed: that is at most 0.0037 %
        ("throughput>900", "held"),
        ("throughput>1000", "crossed"),
    ],
)
def test_the_interval_decides(text, result):
    assert limit(measured(), text)["result"] == result


@each_row(
    ("counts", "text", "result"),
    [
        ({"errors": 500, "completed": 9_500}, "errors<1%", "crossed"),
        ({"errors": 500, "completed": 9_500}, "errors<10%", "held"),
        ({"timeouts": 150, "unsent": 150, "completed": 9_700}, "unanswered<1%", "crossed"),
        ({"timeouts": 150, "unsent": 150, "completed": 9_700}, "errors<1%", "undecided"),  # who knows
        ({"timeouts": 15, "unsent": 15, "completed": 9_970}, "errors<1%", "held"),
        ({"timeouts": 150, "errors": 150, "completed": 9_700}, "failed<2%", "crossed"),
        ({"timeouts": 10_000, "completed": 0}, "failed<99%", "crossed"),
        ({"timeouts": 50, "errors": 30, "unsent": 20, "completed": 9_900}, "failed<2%", "held"),
        ({"misses": 4_000}, "misses<10%", "crossed"),
        (
            {"misses": 500, "completed": 1_000, "timeouts": 9_000},
            "misses<10%",
            "crossed",
        ),  # of those that were done
        ({"completed": 5_000, "timeouts": 5_000}, "throughput>900", "crossed"),
    ],
)
def test_what_the_server_did_to_requests_is_judged_as_it_was_counted(counts, text, result):
    assert limit(measured(**counts), text)["result"] == result


def test_errors_in_one_run_of_many_decide_nothing_of_the_next_ones():
    document = measured()
    document["runs"][3] = run(4, 400.0, errors=1_500, completed=8_500)
    found = limit(document, "errors<1%")
    assert (found["result"], found["value"]) == ("undecided", 0.015)
    assert found["low"] < 0.01 < found["high"]


@pytest.mark.parametrize(
    "code",
    ["steal-time", "noisy-host", "run-delay", "throttled", "excluded-runs", "late-sends", "arrivals-differ"],
)
@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("p99<500us", "held"),
        ("p99<300us", "undecided"),
        ("p99>300us", "undecided"),
        ("p99>500us", "crossed"),
        ("throughput>900", "held"),
        ("throughput>1001", "undecided"),
        ("errors<1%", "held"),
        ("misses<1%", "held"),
    ],
)
def test_noise_of_the_host_only_adds(code, text, result):
    found = limit(measured(NEAR, reason(code)), text)
    assert found["result"] == result
    assert exit_code([found]) == CODES[result]
    if result == "undecided":
        assert (found["blame"], found["code"]) == ("host", code)


def test_a_limit_crossed_on_a_noisy_host_is_crossed_where_isolated_latency_crosses_it_as_well():
    noise = reason("steal-time")
    assert limit(measured(NEAR, noise, isolated=[350.0] * 10), "p99<300us")["result"] == "crossed"
    assert limit(measured(NEAR, noise, isolated=[200.0] * 10), "p99<300us")["result"] == "undecided"
    busy = reason("client-busy", "invalid")
    blamed = limit(measured(NEAR, noise, busy, isolated=[350.0] * 10), "p99<300us")
    assert (blamed["result"], blamed["blame"]) == ("undecided", "instrument")


def test_isolated_limits_are_decided_whatever_the_host_did():
    document = measured(
        NEAR, reason("steal-time"), reason("noisy-host"), reason("excluded-runs"), isolated=[350.0] * 10
    )
    assert limit(document, "isolated p99<360us")["result"] == "held"
    assert limit(document, "isolated p99<340us")["result"] == "crossed"


def test_an_isolated_percentile_that_is_not_known_is_not_infinitely_late():
    document = measured(NEAR, isolated=[46_000.0] * 10)
    document["runs"][2]["isolated"]["isolated_us"] = {}  # one of ten runs does not know it
    assert limit(document, "isolated p99<100ms")["result"] == "held"
    for run_ in document["runs"]:
        run_["isolated"]["isolated_us"] = {}
    document["isolated"]["latency_us"] = {}
    found = limit(document, "isolated p99<100ms")
    assert (found["result"], found["value"], found["code"]) == ("undecided", None, "no-isolated-latency")


@pytest.mark.parametrize(
    ("isolated", "code", "need"),
    [
        (None, "no-isolated-latency", "--resume"),
        (
            {"refused": {"code": "no-sentinel", "text": "nobody watched", "need": "root"}},
            "no-sentinel",
            "root",
        ),
    ],
)
def test_without_isolated_latency_a_limit_on_it_is_undecided_with_the_reason_and_what_would_help(
    isolated, code, need
):
    found = limit(measured() | {"isolated": isolated}, "isolated p99<500us")
    assert (found["result"], found["blame"], found["value"]) == ("undecided", "host", None)
    assert found["code"] == code
    assert need in found["hint"]


FEW = reason("few-samples", "inconclusive", "p99", "p50")


@each_row(
    ("p99", "reasons", "counts", "text", "result"),
    [
        # Three quarters got no answer: p50 is beyond the timeout, too.
        ([math.inf] * 10, [FEW], {"timeouts": 7_500, "completed": 2_500}, "p99<60ms", "crossed"),
        ([math.inf] * 10, [FEW], {"timeouts": 7_500, "completed": 2_500}, "p50<60ms", "crossed"),
        ([math.inf] * 10, [FEW], {"timeouts": 7_500, "completed": 2_500}, "isolated p99<60ms", "crossed"),
        (
            [math.inf] * 10,
            [FEW, reason("steal-time")],
            {"timeouts": 200, "completed": 9_800},
            "p99<60ms",
            "crossed",
        ),
        ([400.0], [FEW], {"timeouts": 7_500, "completed": 2_500}, "p99<60ms", "crossed"),  # one run
        # Not beyond doubt: the client's doing, fewer than the percentile leaves, a limit from below.
        (
            NEAR,
            [reason("client-busy", "invalid")],
            {"timeouts": 200, "completed": 9_800},
            "p99<300us",
            "undecided",
        ),
        (NEAR, [FEW], {"timeouts": 90, "completed": 9_910}, "p99<300us", "undecided"),
        (NEAR, [FEW], {"timeouts": 7_500, "completed": 2_500}, "p99>300us", "undecided"),
        # p50 is 100 us.
        (NEAR, [reason("few-samples", "inconclusive", "p99")], {}, "p99<90us", "crossed"),
        (NEAR, [reason("few-samples", "inconclusive", "p99")], {}, "p99<110us", "undecided"),
        (NEAR, [FEW], {}, "p99<90us", "undecided"),  # neither is p50 known
        (NEAR, [reason("few-samples", "inconclusive", "p50")], {}, "p50>410us", "crossed"),
    ],
)
def test_a_latency_is_beyond_its_limit_where_answers_are_missing_or_a_lower_percentile_is(
    p99, reasons, counts, text, result
):
    found = limit(measured(p99, *reasons, **counts), text)
    assert found["result"] == result
    assert exit_code([found]) in (3, 4, 6)


@each_row(
    ("code", "text", "result"),
    [
        ("rate-not-reached", "p99<500us", "undecided"),  # the queue grows as long as one looks
        ("rate-not-reached", "p99<300us", "crossed"),
        ("rate-not-reached", "throughput>1001", "crossed"),
        ("rate-not-reached", "unanswered<1%", "held"),
        ("errors", "p99<500us", "undecided"),  # errors have no latency
        ("errors", "p99<300us", "crossed"),
        ("errors", "errors<1%", "held"),
    ],
)
def test_faults_of_the_server_are_findings_and_never_the_instruments(code, text, result):
    found = limit(measured(NEAR, reason(code)), text)
    assert found["result"] == result
    assert exit_code([found]) == CODES[result]


@each_row("code", ["client-busy", "late-sends", "arrivals-differ", "rate-not-reached", "of tomorrow"])
def test_the_instrument_is_blamed_only_for_limits_that_it_leaves_open(code):
    document = measured(NEAR, reason(code, "invalid"))
    assert limit(document, "errors<1%")["result"] == "held"
    crossed = limit(document, "p99<300us")
    assert (crossed["result"], exit_code([crossed])) == ("undecided", 6)
    held = limit(document, "p99<500us")
    assert held["result"] == ("undecided" if code in ("rate-not-reached", "of tomorrow") else "held")


def test_what_is_unknown_of_another_percentile_is_no_matter():
    document = measured(NEAR, reason("few-samples", "inconclusive", "p99.9"), reason("wide-intervals"))
    assert limit(document, "p99<500us")["result"] == "held"
    thin = measured(NEAR, reason("few-samples", "inconclusive", "p99"))
    assert limit(thin, "p99<500us")["result"] == "undecided"
    assert limit(thin, "p50<500us")["result"] == "held"


def test_what_is_only_to_be_kept_in_mind_decides_nothing():
    minds = [reason(code, "note") for code in ("steal-time", "errors", "excluded-runs", "not-restarted")]
    assert limit(measured(NEAR, *minds), "p99<300us")["result"] == "crossed"


def test_throughput_far_below_its_limit_is_crossed_though_the_host_took_some_of_the_time():
    document = measured(NEAR, reason("steal-time"), isolated=NEAR, completed=5_000, timeouts=5_000)
    assert limit(document, "throughput>900")["result"] == "crossed"
    assert (
        limit(document | {"isolated": document["isolated"] | {"interference_share": 0.6}}, "throughput>900")[
            "result"
        ]
        == "undecided"
    )


@each_row(
    ("p99", "text", "result"),
    [
        ([400.0], "p99<500us", "undecided"),  # one run says nothing of how runs differ
        ([400.0], "p99<300us", "undecided"),
        ([math.inf], "p99<300us", "undecided"),
        ([math.inf] * 3, "p99<1h", "crossed"),
        ([400.0, 400.0, math.inf], "p99<500us", "undecided"),
        ([400.0, 401.0, 399.0], "p99<500us", "held"),  # of the mean, where the median has no interval
        ([math.inf] * 9 + [400.0], "p99<1h", "crossed"),
        ([math.inf] * 2 + [400.0] * 8, "p99<300us", "crossed"),
    ],
)
def test_few_runs_and_infinitely_late_ones(p99, text, result):
    found = limit(measured(p99), text)
    assert found["result"] == result
    if result == "undecided":
        assert AGAIN in found["hint"]


def test_runs_that_were_set_aside_count_for_no_limit_unless_none_counts():
    document = measured()
    for one in document["runs"][:4]:
        one |= {"excluded": "stolen from", "latency_us": {"p99": 9e6}}
    assert limit(document, "p99<500us")["runs"] == 6
    for one in document["runs"]:
        one["excluded"] = "stolen from"
    assert limit(document, "p99<500us")["runs"] == 10


def test_a_limit_that_holds_for_the_median_and_not_for_all_runs_says_so():
    found = limit(measured([*NEAR[:9], 9e3]), "p99<500us")
    assert found["result"] == "held"
    assert found["off"] == [10]


def test_a_crossed_limit_outweighs_an_undecided_one_and_the_instrument_one_that_needs_more_runs():
    def results(*blames: str) -> list[Any]:
        return [{"result": r, "blame": b} for r, _, b in (one.partition(":") for one in blames)]

    assert exit_code(results("held", "held")) == 0
    assert exit_code(results("held", "undecided:sample")) == 4
    assert exit_code(results("undecided:sample", "undecided:instrument")) == 6
    assert exit_code(results("undecided:instrument", "crossed")) == 3


VALUES = st.lists(st.floats(1.0, 1e6) | st.just(float("inf")), min_size=1, max_size=30)
BENT = st.builds(Distortion, st.booleans(), st.booleans())


@given(VALUES, st.sampled_from(["median", "mean"]), st.floats(1.0, 1e6), st.booleans())
def test_what_is_held_or_crossed_never_has_the_limit_within_its_interval(values, about, bound, above):
    figure = middle_interval(values, about)
    found = judge(figure, bound, above=above)
    if not figure.known:
        assert found == "undecided"
    elif found != "undecided":
        assert not figure.low < bound < figure.high
        assert (figure.value >= bound) == ((found == "held") == above) or figure.value == bound


@given(VALUES, st.floats(1.0, 1e6), st.floats(1.0, 1e6), st.booleans())
def test_a_wider_limit_is_never_judged_worse(values, one, other, above):
    tight, wide = sorted((one, other), reverse=above)
    order = ["crossed", "undecided", "held"]
    figure = middle_interval(values, "median")
    first, second = (judge(figure, bound, above=above) for bound in (tight, wide))
    assert order.index(first) <= order.index(second)


@given(st.lists(st.floats(1.0, 1e5), min_size=6, max_size=20), st.floats(0.0, 1e5), st.floats(1.0, 1e5), BENT)
def test_a_judgement_that_stands_is_that_of_the_truth(truth, noise, bound, bent):
    """Whatever was added where a figure may be too high, or taken where it may be too low."""
    for sign, allowed in ((1.0, bent.too_high), (-1.0, bent.too_low)):
        shown = [max(0.0, value + sign * noise) if allowed else value for value in truth]
        for above in (False, True):
            said = judge(middle_interval(shown, "median"), bound, above=above)
            if said != "undecided" and is_robust(said, bent, above=above):
                assert judge(middle_interval(truth, "median"), bound, above=above) == said


def rare(runs: int = 10, *, errors: int = 0, samples: int = 5_000, us: float = 100.0) -> dict[int, Any]:
    """One request of each run, ``checkout``, beside all that the run made."""
    counts = {
        "scheduled": samples,
        "completed": samples - errors,
        "misses": 0,
        "errors": errors,
        "timeouts": 0,
        "unsent": 0,
    }
    latency = {"p50": us / 2, "p99": us, "mean": us / 2}
    return {n: {"checkout": RequestFigures(latency, counts, samples - errors)} for n in range(1, runs + 1)}


@each_row(
    ("requests", "text", "result", "code"),
    [
        (rare(us=100.0), "p99[checkout]<200us", "held", None),  # all requests together: 400 us
        (rare(us=900.0), "p99[checkout]<500us", "crossed", None),
        (rare(us=900.0), "mean[checkout]<500us", "held", None),
        (rare(samples=1_000), "p99[checkout]<200us", "undecided", "few-samples"),
        (rare(samples=1_000), "p50[checkout]<200us", "held", None),
        (rare(errors=100), "p99[checkout]<200us", "undecided", "errors"),
        (rare(errors=100), "failed[checkout]<1%", "crossed", None),
        (rare(errors=100), "failed<1%", "held", None),
        (rare(), "p99[browse]<200us", "undecided", "unmeasured-request"),
        ({}, "p99[checkout]<200us", "undecided", "unmeasured-request"),
    ],
)
def test_a_limit_on_one_request_is_judged_by_its_own_figures(requests, text, result, code):
    document = measured(NEAR, reason("few-samples", "inconclusive", "p99"), reason("errors"))
    (one,) = judge_limits(document, [text], AGAIN, requests)  # type: ignore[arg-type]
    assert (one["result"], one.get("code")) == (result, code)
    assert one["figure"] == text.partition("<")[0]


def test_what_bends_all_latencies_bends_those_of_one_request():
    document = measured(NEAR, reason("steal-time"), isolated=NEAR)
    (one,) = judge_limits(document, ["p99[checkout]<50us"], AGAIN, rare())  # type: ignore[arg-type]
    assert (one["result"], one["code"], one["blame"]) == ("undecided", "steal-time", "host")
