"""Limits as text: parsing, contradictions, and limits that a plan cannot decide."""

from __future__ import annotations

from functools import partial

import pytest
from messages import raises
from rows import each_row

from hindmost.core.plan import MeasurePlan, parse_term
from hindmost.core.plan.limits import check_limits, parse_limits
from hindmost.core.plan.objective import parse_objective
from hindmost.errors import UsageError


@each_row(
    ("text", "key", "limit", "unit", "above"),
    [
        ("p99<500us", "p99", 500.0, "us", False),
        ("p99 < 0.5 ms", "p99", 500.0, "us", False),
        ("p99.9<=1ms", "p99.9", 1000.0, "us", False),
        ("mean<1ms", "mean", 1000.0, "us", False),
        ("p50.0<1s", "p50", 1e6, "us", False),
        ("p99>2ms", "p99", 2000.0, "us", True),
        ("isolated p99<500us", "isolated p99", 500.0, "us", False),
        ("errors<1%", "errors", 0.01, "share", False),
        ("unanswered<0.1%", "unanswered", 0.001, "share", False),
        ("misses < 5 %", "misses", 0.05, "share", False),
        ("throughput>49k", "throughput", 49_000.0, "per_s", True),
        ("throughput>=1200/s", "throughput", 1_200.0, "per_s", True),
        ("p99[checkout]<50ms", "p99[checkout]", 50_000.0, "us", False),
        ("p99[GET /a?b=[1],<2>] < 5ms", "p99[GET /a?b=[1],<2>]", 5_000.0, "us", False),
        ("failed[checkout]<1%", "failed[checkout]", 0.01, "share", False),
        ("first p99<200ms", "first p99", 200_000.0, "us", False),
        ("session p95<8s", "session p95", 8_000_000.0, "us", False),
        ("gap mean < 5ms", "gap mean", 5_000.0, "us", False),
    ],
)
def test_limits_are_parsed_with_their_unit(text, key, limit, unit, above):
    term = parse_term(text)
    assert (term.key, term.unit, term.above, term.text) == (key, unit, above, text)
    assert term.limit == pytest.approx(limit)


@each_row(
    ("text", "code", "fields"),
    [
        ("", "bad-value", {"value": ""}),
        ("p99", "bad-value", {"value": "p99"}),
        ("p99<500", "bad-value", {"value": "500"}),
        ("p99<0us", "bad-value", {"value": "p99<0us", "least": 0}),
        ("p99<-1s", "bad-value", {"value": "-1s"}),
        ("p99<fast", "bad-value", {"value": "fast"}),
        ("p100<1s", "bad-value", {"name": "percentile", "value": "p100"}),
        ("p0<1s", "bad-value", {"name": "percentile", "value": "p0"}),
        ("max<1s", "unsupported", {"name": "max"}),
        ("error<1%", "unknown-name", {"name": "error"}),
        ("errors<0%", "bad-value", {"value": "0%"}),
        ("throughput>-1", "bad-value", {"value": "-1"}),
        ("calm mean<1ms", "unsupported", {"name": "isolated mean"}),
        ("calm errors<1%", "unsupported", {"name": "isolated errors"}),
        ("first errors<1%", "unsupported", {"name": "first errors"}),
        ("gap throughput>1", "unsupported", {"name": "gap throughput"}),
        ("first p99[checkout]<1ms", "unsupported", {"name": "p99"}),
        ("isolated p99[checkout]<1ms", "unsupported", {"name": "p99"}),
        ("throughput[checkout]>10", "unsupported", {"name": "throughput"}),
        ("p99[]<1ms", "bad-value", {"value": "p99[]<1ms"}),
    ],
)
def test_a_limit_without_a_meaning_is_refused(text, code, fields):
    with raises(UsageError, code, **fields) as caught:
        parse_term(text)
    assert caught.value.hint


@each_row(
    ("texts", "value", "other"),
    [
        (["p99<1ms", "p99>2ms"], "p99<1ms", "p99>2ms"),
        (["p99>2ms", "p99<2ms"], "p99<2ms", "p99>2ms"),
        (["p99<1ms,p50>2ms"], "p99<1ms", "p50>2ms"),  # p99 is never below p50
        (["isolated p99<1ms", "isolated p95>2ms"], "isolated p99<1ms", "isolated p95>2ms"),
        (["first p99<1ms", "first p95>2ms"], "first p99<1ms", "first p95>2ms"),
        (["errors<1%", "errors>5%"], "errors<1%", "errors>5%"),
        (["throughput>60k", "throughput<50k"], "throughput<50k", "throughput>60k"),
        (["p99[a]<1ms,p99[a]>2ms"], "p99[a]<1ms", "p99[a]>2ms"),
    ],
)
def test_limits_that_contradict_each_other_are_refused(texts, value, other):
    with raises(UsageError, "conflicting-options", option="--require", value=value, other=other):
        parse_limits(texts)


@each_row(
    "texts",
    [
        ["p99<2ms", "p99>1ms"],
        ["p50<1ms", "p99>2ms"],
        ["p99[a]<1ms", "p99[b]>2ms", "p99>3ms"],
        ["isolated p99<1ms", "p99>2ms"],  # interference may add the difference
        ["first p99<1ms", "gap p99<1ms", "p99>2ms"],
        ["errors<1%", "unanswered>5%"],
        ["mean<1ms", "p99>2ms", "p99<3ms", "p99<4ms"],
    ],
)
def test_compatible_limits_are_accepted(texts):
    assert len(parse_limits(texts)) == sum(text.count(",") + 1 for text in texts)


def test_a_comma_in_brackets_belongs_to_a_name():
    terms = parse_limits(["p99[get:/a?b=1,2]<1ms,failed[c,d]<1%"])
    assert [term.request for term in terms] == ["get:/a?b=1,2", "c,d"]


def test_limits_that_a_plan_cannot_decide_are_refused():
    plan = MeasurePlan(target="memcached", rate_per_s=50_000.0)
    assert check_limits(plan, parse_limits(["p99<5ms", "errors<1%", "throughput>49k"])) is plan
    known = ["p50", "p95", "p99", "p99.9"]
    with raises(UsageError, "unmeasured-percentile", name="p99.99", known=known) as caught:
        check_limits(plan, parse_limits(["p99.99<5ms"]))
    assert caught.value.hint == "--quantiles 50,95,99,99.9,99.99"
    with raises(UsageError, "unreachable-limit", limit=50_000.0, rate_per_s=50_000.0):
        check_limits(plan, parse_limits(["throughput>50k"]))
    with raises(UsageError, "unmeasured-percentile", name="p99.99", known=known) as caught:
        check_limits(plan, parse_limits(["p99.99<5ms"]), stored=True)
    assert "--quantiles" not in (caught.value.hint or "")


def test_limits_on_messages_need_their_times():
    terms = parse_limits(["first p99<200ms", "gap p99<50ms"])
    plan = MeasurePlan(target="http://h/", rate_per_s=10.0, workload={"kind": "http"})
    with raises(UsageError, "missing-argument", option="--stream", value="first p99<200ms"):
        check_limits(plan, terms)
    streamed = plan.model_copy(update={"stream": True})
    assert check_limits(streamed, terms) is streamed


def test_limits_on_sessions_need_sessions():
    terms = parse_limits(["session p95<2s"])
    workload: dict[str, object] = {"kind": "http", "paths": ["/", "/a"]}
    plan = MeasurePlan(target="http://h/", rate_per_s=10.0, workload=workload)
    with raises(UsageError, "missing-argument", option="--workload", value="session p95<2s"):
        check_limits(plan, terms)
    workload["session"] = {"think_s": 1.0}
    with_sessions = plan.model_copy(update={"workload": workload})
    assert with_sessions.think_s == 1.0
    assert check_limits(with_sessions, terms) is with_sessions


def test_a_request_outside_the_workload_is_refused():
    requests = [{"path": "/a,b", "name": "checkout"}, {"path": "/c"}]
    plan = MeasurePlan(target="http://h/", rate_per_s=10.0, workload={"kind": "http", "requests": requests})
    assert check_limits(plan, parse_limits(["p99[checkout]<5ms, errors[get:/c]<1%"])) is plan
    with raises(UsageError, "unknown-name", option="--require", name="chekout", known=["checkout", "get:/c"]):
        check_limits(plan, parse_limits(["p99[chekout]<5ms"]))
    assert check_limits(plan, parse_limits(["p99[chekout]<5ms"]), stored=True) is plan


@each_row("read", [parse_objective, partial(parse_term, what="promise")])
def test_objectives_and_promises_apply_to_all_requests(read):
    with raises(UsageError, "unsupported", name="p99"):
        read("p99[checkout]<5ms")
