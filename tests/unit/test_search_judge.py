"""Judgement of a step from the intervals and kinds of its runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from evidence import evidence, run
from hypothesis import given
from hypothesis import strategies as st
from messages import raises
from rows import each_row

from hindmost.commands.measure.search.judge import DISTURBED, StepRule, StepRun, judge, step_run
from hindmost.core.plan import parse_objective
from hindmost.core.run.isolated import Refusal, RunIsolated
from hindmost.core.run.status import Kind, RunStatus
from hindmost.core.store.estimates import to_document
from hindmost.errors import UsageError
from hindmost.stats import ObjectiveRule

P99 = parse_objective("p99<500us")
RUNS = (5, 9)


def step_runs(*values: float, kind: Kind = "counted", **more: Any) -> list[StepRun]:
    return [StepRun({"p99": value}, RunStatus(kind, f"{kind} it is", **more)) for value in values]


def host(*values: float) -> list[StepRun]:
    return step_runs(*values, kind="host")


def client(*values: float) -> list[StepRun]:
    return step_runs(*values, kind="client")


def short(*carried: float, by_client: bool = False) -> list[StepRun]:
    return [
        StepRun(
            {"p99": math.inf},
            RunStatus("short", "saturated", "rate-not-reached", one, "client" if by_client else "server"),
        )
        for one in carried
    ]


CASES = [
    ("below the limit", step_runs(300.0, 305.0, 310.0, 303.0, 307.0), "holds"),
    ("above the limit", step_runs(700.0, 705.0, 710.0, 703.0, 707.0), "fails"),
    ("its median below, the interval not", step_runs(400.0, 480.0, 520.0, 470.0, 460.0), None),
    ("four tell nothing", step_runs(300.0, 300.0, 301.0, 302.0), None),
    (
        "one run of nine is off",
        step_runs(300.0, 9e4, 305.0, 310.0, 303.0, 307.0, 308.0, 301.0, 302.0),
        "holds",
    ),
    ("ten runs on either side", step_runs(*[480.0, 520.0] * 5), "undecided"),
    ("infinitely late, twice", step_runs(math.inf, math.inf), "fails"),
    ("one run of a bad host", [*step_runs(300.0, 305.0, 310.0, 303.0, 307.0), *host(9e3)], "holds"),
    ("slow by the host's doing alone", [*step_runs(300.0), *host(700.0, 705.0, 710.0)], None),
    ("disturbed, and fast enough for all that", host(300.0, 305.0, 310.0, 303.0, 307.0), "holds"),
    (
        "decided only with the disturbed runs",
        [*step_runs(300.0, 600.0, 301.0, 302.0, 303.0), *host(*[300.0] * 4)],
        None,
    ),
    ("disturbed too often", host(*[700.0] * max(DISTURBED, RUNS[0])), "spoiled"),
    (
        "some disturbed runs, more quiet ones",
        [*step_runs(*[480.0, 520.0] * 2, 500.0), *host(*[700.0] * 4)],
        None,
    ),
    ("a busy client, slow", client(700.0, 705.0), "unmet"),
    ("a busy client, fast enough", client(300.0, 305.0, 310.0, 303.0, 307.0), "holds"),
    ("one busy client", [*client(700.0), *step_runs(700.0, 705.0, 710.0, 703.0, 707.0)], "fails"),
    ("one run was not carried", [*step_runs(300.0, 305.0, 310.0, 303.0, 307.0), *short(9e3)], None),
    ("two were not, by the server", [*step_runs(300.0), *short(9e3, 8e3)], "fails"),
    ("two were not, by the client", short(9e3, 8e3, by_client=True), "unmet"),
    ("errors once", [*step_runs(300.0, 305.0, 310.0, 303.0, 307.0), *step_runs(3.0, kind="errors")], "holds"),
    ("errors twice", [*step_runs(300.0), *step_runs(3.0, 3.0, kind="errors")], "unmet"),
]


@each_row(("case", "runs", "expected"), CASES, ids=[case for case, *_ in CASES])
def test_a_step_is_judged_by_its_interval_and_its_spoiled_runs(case, runs, expected):
    result = judge(runs, P99, RUNS)
    assert (result.outcome if result else None) == expected, (case, result)


def test_every_step_can_require_more_runs():
    six = step_runs(300.0, 301.0, 302.0, 303.0, 304.0, 305.0)
    assert judge(six, P99, (7, 8)) is None
    assert judge([*six, *step_runs(301.0)], P99, (7, 8)) is not None
    with pytest.raises(ValueError):  # noqa: PT011 - more runs than allowed
        ObjectiveRule("p99", 500.0, 8, 9)


@each_row("kind", ["counted", "host", "client", "errors", "short"])
def test_a_step_ends_with_runs_of_any_kind(kind):
    for value in (499.0, 501.0, math.inf):
        finished: list[StepRun] = []
        while judge(finished, P99, RUNS) is None:
            finished += step_runs(value + (len(finished) % 2) * 1e-3, kind=kind, carried=1.0)
            assert len(finished) <= 2 * RUNS[1], (kind, value)


def test_the_rate_of_a_saturated_server_is_kept_as_a_bound():
    result = judge(short(9_000.0, 9_400.0), P99, RUNS)
    assert result is not None
    assert result.at_most_per_s == 9_400.0


def test_all_terms_must_hold_and_one_failure_decides():
    both = parse_objective("p99<500us,errors<1%")
    good = [StepRun({"p99": v, "errors": 0.001}) for v in (300.0, 301.0, 302.0, 303.0, 304.0)]
    assert judge(good, both, RUNS).outcome == "holds"  # type: ignore[union-attr]
    bad = [StepRun({"p99": v, "errors": 0.02 + v * 1e-6}) for v in (300.0, 301.0, 302.0, 303.0, 304.0)]
    result = judge(bad, both, RUNS)
    assert result is not None
    assert (result.outcome, result.why.code, result.why.values["name"]) == ("fails", "fails", "errors")


def run_of(objective: str = "p99<500us", plan: dict[str, Any] | None = None, **given: Any) -> StepRun:
    e = evidence(plan=plan, runs=[run(1)])
    return step_run(
        run(1, record={"target": to_document(e.target)}, **given), e.plan, parse_objective(objective)
    )


def test_a_run_without_problems_is_counted():
    assert run_of().kind == "counted"
    assert run_of().values == {"p99": pytest.approx(50.3)}


@each_row(("objective", "us"), [("first p99<1ms", 300.0), ("gap p99<1ms", math.inf), ("p99<500us", 50.3)])
def test_an_objective_on_messages_is_judged_by_their_times(objective, us):
    e = evidence(runs=[run(1)])
    one = run(1, record={"target": to_document(e.target)})
    one.values["first_message"] = {"p99": 300.0}
    assert list(step_run(one, e.plan, parse_objective(objective)).values.values()) == [pytest.approx(us)]


def test_late_sending_is_compared_with_the_limit_of_the_objective():
    assert run_of(send_delay={"p99": 60.0}).kind == "host"
    assert run_of(send_delay={"p99": 60.0}, latency={"p99": 5e3}).kind == "host"
    assert run_of(send_delay={"p99": 30.0}, service={"p99": 20.0}).kind == "counted"
    assert run_of(send_delay={"p50": 60.0}).kind == "counted"  # a quantile without a limit


def test_limited_errors_are_a_share():
    one = run_of("p99<500us,errors<10%,unanswered<1%", counts={"completed": 95_000, "errors": 5_000})
    assert one.kind == "counted"
    assert one.values["errors"] == pytest.approx(0.05)
    assert one.values["unanswered"] == 0.0


def test_the_stopping_rule_ends_a_judged_step_and_shows_its_interval():
    e = evidence(plan={"runs": RUNS})
    rule = StepRule(P99, e.plan)
    assert not rule.decide({}).stop
    for number in range(1, 6):
        assert not rule.decide({}).stop
        rule.record(run(number, record={"target": to_document(e.target)}))
    decision = rule.decide({})
    assert (decision.stop, decision.reached, decision.next_look) == (True, True, None)
    shown = rule.interval()
    assert shown.low < shown.value < shown.high < 60.0


@each_row(
    ("text", "code"),
    [
        ("errors<1%", "bad-value"),  # a slow server meets it at any rate
        ("p99<500us,p99<1ms", "duplicate-name"),
        ("p99=5", "bad-value"),
        ("", "bad-value"),
        ("p99<500us,", "bad-value"),
        ("p99<500us,errors<fast", "bad-value"),
    ],
)
def test_an_invalid_objective_is_refused(text, code):
    with raises(UsageError, code) as caught:
        parse_objective(text)
    assert caught.value.hint


@given(st.lists(st.floats(1.0, 1e6) | st.just(math.inf), min_size=1, max_size=12), st.floats(1.0, 1e6))
def test_the_interval_of_a_decided_step_excludes_the_limit(values, limit):
    rule = ObjectiveRule("p99", limit, 12)
    found, interval = rule.holds(values), rule.interval(values)
    if found is True:
        assert interval.high < limit
    if found is False:
        assert (interval.known and interval.low >= limit) or all(map(math.isinf, values))


def test_the_median_run_decides_despite_outliers():
    """400 steps have a median run 10 % below the limit; one run in twenty is 20 times slower."""
    g = np.random.default_rng(1)
    wrong = held = 0
    for _ in range(400):
        runs = (450.0 * g.lognormal(0.0, 0.05, 12) * np.where(g.random(12) < 0.05, 20.0, 1.0)).tolist()
        finished: list[StepRun] = []
        while judge(finished, P99, (5, 12)) is None:
            finished += step_runs(runs[len(finished)])
        outcome = judge(finished, P99, (5, 12)).outcome  # type: ignore[union-attr]
        wrong, held = wrong + (outcome == "fails"), held + (outcome == "holds")
    assert wrong == 0  # .0000 documented
    assert held > 360  # 97 % documented


STEAL = {"server_steal_share": 0.05}


@each_row(
    ("objective", "isolated", "kind", "us"),
    [
        ("p99<500us", RunIsolated(values={"p99": 40.0}), "host", 50.3),
        ("isolated p99<500us", RunIsolated(values={"p99": 40.0}), "counted", 40.0),
        ("isolated p99<500us,errors<1%", RunIsolated(values={"p99": 40.0}), "counted", 40.0),
        (
            "isolated p99<500us",
            RunIsolated(refused=Refusal("few-quiet-spells", "too few spells", "a longer run")),
            "host",
            math.inf,
        ),
        ("isolated p99<500us", None, "host", math.inf),
    ],
)
def test_an_objective_on_isolated_latency_counts_runs_with_steal_time(objective, isolated, kind, us):
    e = evidence(runs=[run(1)])
    one = run(1, record={"target": to_document(e.target)} | STEAL, isolated=isolated)
    result = step_run(one, e.plan, parse_objective(objective))
    assert result.kind == kind
    assert next(iter(result.values.values())) == pytest.approx(us)
