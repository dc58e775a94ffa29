"""Limits on measurements: held, crossed or undecided, by the interval and by possible distortions."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from partial_documents import partial
from rows import each_row

from hindmost.commands.measure.limits import exit_code, judge_limits
from hindmost.commands.measure.limits.requests import RequestFigures
from hindmost.core.store.measure import Isolated, Limit, Measure, Run
from hindmost.core.store.types import Counts, Reason
from hindmost.stats import middle_interval
from hindmost.stats.runs.limit import Distortion, is_robust, judge

RESUME = "hindmost measure --resume S"
NEAR = [396.0, 398.0, 400.0, 402.0, 404.0, 399.0, 401.0, 397.0, 403.0, 400.0]
"""Ten runs around 400 us; the interval of their median is [397, 403]."""
CODES = {"held": 0, "crossed": 3, "undecided": 4}


def run(number: int, us: float | None, isolated: float | None = None, **counts: int) -> Run:
    all_counts = {
        "scheduled": 10_000,
        "completed": 10_000,
        "misses": 0,
        "errors": 0,
        "timeouts": 0,
        "unsent": 0,
    } | counts
    return partial(
        Run,
        run=number,
        latency_us={"p50": 100.0, "p99": us, "mean": 150.0},
        throughput={"requested": 1000.0, "achieved": all_counts["completed"] / 10.0},
        counts=all_counts,
        isolated=None
        if isolated is None
        else {"isolated_us": {"p99": {"value": isolated, "low": None, "high": None}}},
    )


def reason(code: str, level: str = "inconclusive", *labels: str) -> Reason:
    return Reason(
        code=code,
        level=level,
        text=f"{code} occurred; more",
        hint=f"fix {code}",
        labels=[*labels],
    )


def measure_document(
    p99: list[float | None] = NEAR,  # type: ignore[assignment]
    *reasons: Reason,
    isolated: list[float] | None = None,
    interference_share: float = 0.05,
    **counts: int,
) -> Measure:
    runs = [run(n, us, isolated[n - 1] if isolated else None, **counts) for n, us in enumerate(p99, 1)]
    return partial(
        Measure,
        runs=runs,
        reasons=list(reasons),
        over_runs={"about": "median"},
        isolated=isolated
        and {
            "refused": None,
            "interference_share": interference_share,
            "latency_us": {"p99": {"verdict": "valid"}},
        },
    )


def limit(document: Measure, text: str) -> Limit:
    (result,) = judge_limits(document, [text], RESUME)
    return result


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
    assert limit(measure_document(), text).result == result


@each_row(
    ("counts", "text", "result"),
    [
        ({"errors": 500, "completed": 9_500}, "errors<1%", "crossed"),
        ({"errors": 500, "completed": 9_500}, "errors<10%", "held"),
        ({"timeouts": 150, "unsent": 150, "completed": 9_700}, "unanswered<1%", "crossed"),
        (
            {"timeouts": 150, "unsent": 150, "completed": 9_700},
            "errors<1%",
            "undecided",
        ),  # timeouts may have been errors
        ({"timeouts": 15, "unsent": 15, "completed": 9_970}, "errors<1%", "held"),
        ({"timeouts": 150, "errors": 150, "completed": 9_700}, "failed<2%", "crossed"),
        ({"timeouts": 10_000, "completed": 0}, "failed<99%", "crossed"),
        ({"timeouts": 50, "errors": 30, "unsent": 20, "completed": 9_900}, "failed<2%", "held"),
        ({"misses": 4_000}, "misses<10%", "crossed"),
        (
            {"misses": 500, "completed": 1_000, "timeouts": 9_000},
            "misses<10%",
            "crossed",
        ),  # a share of completed requests
        ({"completed": 5_000, "timeouts": 5_000}, "throughput>900", "crossed"),
    ],
)
def test_limits_on_shares_of_requests_use_the_counts(counts, text, result):
    assert limit(measure_document(**counts), text).result == result


@each_row(
    ("text", "result"),
    [
        ("first p99<2ms", "held"),
        ("first p99<1ms", "crossed"),
        ("first p50<1ms", "held"),
        ("gap p99<100us", "held"),
        ("gap p99<50us", "crossed"),
        ("session p99<1s", "held"),
        ("session p50<100us", "crossed"),
        ("p99<500us", "held"),
    ],
)
def test_limits_on_messages_and_sessions_are_judged_by_their_own_times(text, result):
    document = measure_document()
    document.runs[:] = [
        replace(
            one,
            first_message_us={label: 4.0 * us for label, us in one.latency_us.items()},
            message_gap_us={label: 0.2 * us for label, us in one.latency_us.items()},
            session_us={label: 9.0 * us for label, us in one.latency_us.items()},
        )
        for one in document.runs
    ]
    assert limit(document, text).result == result


@each_row("text", ["first p99<1s", "gap p99<1s"])
def test_a_limit_on_messages_that_never_came_is_undecided(text):
    found = limit(measure_document(), text)
    assert (found.result, found.value, found.code, found.blame) == (
        "undecided",
        None,
        "no-messages",
        "server",
    )
    assert exit_code([found]) == CODES["undecided"]


def test_errors_in_one_run_of_many_decide_nothing():
    document = measure_document()
    document.runs[3] = run(4, 400.0, errors=1_500, completed=8_500)
    found = limit(document, "errors<1%")
    assert (found.result, found.value) == ("undecided", 0.015)
    assert found.low < 0.01 < found.high


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
def test_noise_of_the_host_can_only_add_latency(code, text, result):
    found = limit(measure_document(NEAR, reason(code)), text)
    assert found.result == result
    assert exit_code([found]) == CODES[result]
    if result == "undecided":
        assert (found.blame, found.code) == ("host", code)


def test_a_limit_is_crossed_on_a_noisy_host_if_isolated_latency_crosses_it():
    noise = reason("steal-time")
    assert limit(measure_document(NEAR, noise, isolated=[350.0] * 10), "p99<300us").result == "crossed"
    assert limit(measure_document(NEAR, noise, isolated=[200.0] * 10), "p99<300us").result == "undecided"
    busy = reason("client-busy", "invalid")
    blamed = limit(measure_document(NEAR, noise, busy, isolated=[350.0] * 10), "p99<300us")
    assert (blamed.result, blamed.blame) == ("undecided", "instrument")


def test_limits_on_isolated_latency_are_decided_on_a_noisy_host():
    document = measure_document(
        NEAR, reason("steal-time"), reason("noisy-host"), reason("excluded-runs"), isolated=[350.0] * 10
    )
    assert limit(document, "isolated p99<360us").result == "held"
    assert limit(document, "isolated p99<340us").result == "crossed"


def test_an_unknown_isolated_percentile_is_not_infinite():
    document = measure_document(NEAR, isolated=[46_000.0] * 10)
    document.runs[2].isolated.isolated_us.clear()  # one of ten runs lacks it
    assert limit(document, "isolated p99<100ms").result == "held"
    for run_ in document.runs:
        run_.isolated.isolated_us.clear()
    document.isolated.latency_us.clear()
    found = limit(document, "isolated p99<100ms")
    assert (found.result, found.value, found.code) == ("undecided", None, "no-isolated-latency")


@pytest.mark.parametrize(
    ("isolated", "code", "need"),
    [
        (None, "no-isolated-latency", "--resume"),
        (
            partial(Isolated, refused={"code": "no-sentinel", "text": "no thread watched", "need": "root"}),
            "no-sentinel",
            "root",
        ),
    ],
)
def test_without_isolated_latency_a_limit_on_it_is_undecided_with_a_reason(isolated, code, need):
    found = limit(replace(measure_document(), isolated=isolated), "isolated p99<500us")
    assert (found.result, found.blame, found.value) == ("undecided", "host", None)
    assert found.code == code
    assert need in found.hint


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
        # Not certain: the client's fault, fewer timeouts than the percentile leaves, a lower limit.
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
        (NEAR, [FEW], {}, "p99<90us", "undecided"),  # p50 is unknown, too
        (NEAR, [reason("few-samples", "inconclusive", "p50")], {}, "p50>410us", "crossed"),
    ],
)
def test_a_limit_is_crossed_if_replies_are_missing_or_a_lower_percentile_crosses_it(
    p99, reasons, counts, text, result
):
    found = limit(measure_document(p99, *reasons, **counts), text)
    assert found.result == result
    assert exit_code([found]) in (3, 4, 6)


@each_row(
    ("code", "text", "result"),
    [
        ("rate-not-reached", "p99<500us", "undecided"),  # the queue grows during the whole run
        ("rate-not-reached", "p99<300us", "crossed"),
        ("rate-not-reached", "throughput>1001", "crossed"),
        ("rate-not-reached", "unanswered<1%", "held"),
        ("errors", "p99<500us", "undecided"),  # errors have no latency
        ("errors", "p99<300us", "crossed"),
        ("errors", "errors<1%", "held"),
    ],
)
def test_faults_of_the_server_are_not_blamed_on_the_instrument(code, text, result):
    found = limit(measure_document(NEAR, reason(code)), text)
    assert found.result == result
    assert exit_code([found]) == CODES[result]


@each_row("code", ["client-busy", "late-sends", "arrivals-differ", "rate-not-reached", "future-code"])
def test_the_instrument_is_blamed_only_for_undecided_limits(code):
    document = measure_document(NEAR, reason(code, "invalid"))
    assert limit(document, "errors<1%").result == "held"
    crossed = limit(document, "p99<300us")
    assert (crossed.result, exit_code([crossed])) == ("undecided", 6)
    held = limit(document, "p99<500us")
    assert held.result == ("undecided" if code in ("rate-not-reached", "future-code") else "held")


def test_doubts_about_another_percentile_do_not_matter():
    document = measure_document(
        NEAR, reason("few-samples", "inconclusive", "p99.9"), reason("wide-intervals")
    )
    assert limit(document, "p99<500us").result == "held"
    thin = measure_document(NEAR, reason("few-samples", "inconclusive", "p99"))
    assert limit(thin, "p99<500us").result == "undecided"
    assert limit(thin, "p50<500us").result == "held"


def test_notes_decide_nothing():
    notes = [reason(code, "note") for code in ("steal-time", "errors", "excluded-runs", "not-restarted")]
    assert limit(measure_document(NEAR, *notes), "p99<300us").result == "crossed"


def test_throughput_far_below_its_limit_is_crossed_despite_interference():
    document = measure_document(NEAR, reason("steal-time"), isolated=NEAR, completed=5_000, timeouts=5_000)
    assert limit(document, "throughput>900").result == "crossed"
    taken = replace(document, isolated=replace(document.isolated, interference_share=0.6))
    assert limit(taken, "throughput>900").result == "undecided"


@each_row(
    ("p99", "text", "result"),
    [
        ([400.0], "p99<500us", "undecided"),  # one run does not show how runs differ
        ([400.0], "p99<300us", "undecided"),
        ([math.inf], "p99<300us", "undecided"),
        ([math.inf] * 3, "p99<1h", "crossed"),
        ([400.0, 400.0, math.inf], "p99<500us", "undecided"),
        ([400.0, 401.0, 399.0], "p99<500us", "held"),  # by the mean, as the median has no interval
        ([math.inf] * 9 + [400.0], "p99<1h", "crossed"),
        ([math.inf] * 2 + [400.0] * 8, "p99<300us", "crossed"),
    ],
)
def test_limits_with_few_or_infinite_runs(p99, text, result):
    found = limit(measure_document(p99), text)
    assert found.result == result
    if result == "undecided":
        assert RESUME in found.hint


def test_excluded_runs_count_only_if_no_other_run_does():
    document = measure_document()
    slow = [replace(one, excluded="steal time", latency_us={"p99": 9e6}) for one in document.runs[:4]]
    runs = [*slow, *document.runs[4:]]
    assert limit(replace(document, runs=runs), "p99<500us").runs == 6
    runs = [replace(one, excluded="steal time") for one in runs]
    assert limit(replace(document, runs=runs), "p99<500us").runs == 10


def test_a_limit_that_not_all_runs_hold_lists_the_others():
    found = limit(measure_document([*NEAR[:9], 9e3]), "p99<500us")
    assert found.result == "held"
    assert found.off == [10]


def test_the_exit_code_follows_the_worst_limit():
    def results(*blames: str) -> list[Any]:
        return [partial(Limit, result=r, blame=b) for r, _, b in (text.partition(":") for text in blames)]

    assert exit_code(results("held", "held")) == 0
    assert exit_code(results("held", "undecided:sample")) == 4
    assert exit_code(results("undecided:sample", "undecided:instrument")) == 6
    assert exit_code(results("undecided:instrument", "crossed")) == 3


VALUES = st.lists(st.floats(1.0, 1e6) | st.just(float("inf")), min_size=1, max_size=30)
DISTORTIONS = st.builds(Distortion, st.booleans(), st.booleans())


@given(VALUES, st.sampled_from(["median", "mean"]), st.floats(1.0, 1e6), st.booleans())
def test_a_decided_limit_is_outside_the_interval(values, about, bound, above):
    figure = middle_interval(values, about)
    found = judge(figure, bound, above=above)
    if not figure.known:
        assert found == "undecided"
    elif found != "undecided":
        assert not figure.low < bound < figure.high
        assert (figure.value >= bound) == ((found == "held") == above) or figure.value == bound


@given(VALUES, st.floats(1.0, 1e6), st.floats(1.0, 1e6), st.booleans())
def test_a_wider_limit_is_never_judged_worse(values, bound_a, bound_b, above):
    tight, wide = sorted((bound_a, bound_b), reverse=above)
    order = ["crossed", "undecided", "held"]
    figure = middle_interval(values, "median")
    first, second = (judge(figure, bound, above=above) for bound in (tight, wide))
    assert order.index(first) <= order.index(second)


@given(
    st.lists(st.floats(1.0, 1e5), min_size=6, max_size=20),
    st.floats(0.0, 1e5),
    st.floats(1.0, 1e5),
    DISTORTIONS,
)
def test_a_robust_result_agrees_with_the_truth(truth, noise, bound, distortion):
    """Noise was added if a figure may be too high, or subtracted if it may be too low."""
    for sign, allowed in ((1.0, distortion.too_high), (-1.0, distortion.too_low)):
        shown = [max(0.0, value + sign * noise) if allowed else value for value in truth]
        for above in (False, True):
            judged = judge(middle_interval(shown, "median"), bound, above=above)
            if judged != "undecided" and is_robust(judged, distortion, above=above):
                assert judge(middle_interval(truth, "median"), bound, above=above) == judged


def request_figures(
    runs: int = 10, *, errors: int = 0, samples: int = 5_000, us: float = 100.0
) -> dict[int, Any]:
    """Return the figures of one request, ``checkout``, in each run."""
    counts = {
        "scheduled": samples,
        "completed": samples - errors,
        "misses": 0,
        "errors": errors,
        "timeouts": 0,
        "unsent": 0,
    }
    latency = {"p50": us / 2, "p99": us, "mean": us / 2}
    return {
        n: {"checkout": RequestFigures(latency, Counts(**counts), samples - errors)}
        for n in range(1, runs + 1)
    }


@each_row(
    ("requests", "text", "result", "code"),
    [
        (request_figures(us=100.0), "p99[checkout]<200us", "held", None),  # all requests together: 400 us
        (request_figures(us=900.0), "p99[checkout]<500us", "crossed", None),
        (request_figures(us=900.0), "mean[checkout]<500us", "held", None),
        (request_figures(samples=1_000), "p99[checkout]<200us", "undecided", "few-samples"),
        (request_figures(samples=1_000), "p50[checkout]<200us", "held", None),
        (request_figures(errors=100), "p99[checkout]<200us", "undecided", "errors"),
        (request_figures(errors=100), "failed[checkout]<1%", "crossed", None),
        (request_figures(errors=100), "failed<1%", "held", None),
        (request_figures(), "p99[browse]<200us", "undecided", "unmeasured-request"),
        ({}, "p99[checkout]<200us", "undecided", "unmeasured-request"),
    ],
)
def test_a_limit_on_one_request_uses_the_figures_of_that_request(requests, text, result, code):
    document = measure_document(NEAR, reason("few-samples", "inconclusive", "p99"), reason("errors"))
    (limit_result,) = judge_limits(document, [text], RESUME, requests)
    assert (limit_result.result, limit_result.code or None) == (result, code)
    assert limit_result.figure == text.partition("<")[0]


def test_distortions_also_affect_limits_on_one_request():
    document = measure_document(NEAR, reason("steal-time"), isolated=NEAR)
    (limit_result,) = judge_limits(document, ["p99[checkout]<50us"], RESUME, request_figures())
    assert (limit_result.result, limit_result.code, limit_result.blame) == (
        "undecided",
        "steal-time",
        "host",
    )
