"""What the runs of one step say: by their interval, and by what kind of runs they are."""

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

from hindmost.errors import UsageError
from hindmost.plan import parse_objective
from hindmost.run.isolated import Refusal, RunIsolated
from hindmost.run.status import Kind, RunStatus
from hindmost.stats import ObjectiveRule
from hindmost.studies.search.judge import DISTURBED, StepRule, StepRun, judge, step_run

P99 = parse_objective("p99<500us")
RUNS = (5, 9)


def made_of(*values: float, kind: Kind = "counted", **more: Any) -> list[StepRun]:
    return [StepRun({"p99": value}, RunStatus(kind, f"{kind} it is", **more)) for value in values]


def host(*values: float) -> list[StepRun]:
    return made_of(*values, kind="host")


def client(*values: float) -> list[StepRun]:
    return made_of(*values, kind="client")


def short(*carried: float, by_client: bool = False) -> list[StepRun]:
    return [
        StepRun(
            {"p99": math.inf},
            RunStatus("short", "saturated", "rate-not-reached", one, "client" if by_client else "server"),
        )
        for one in carried
    ]


JUDGED = [
    ("below the limit", made_of(300.0, 305.0, 310.0, 303.0, 307.0), "holds"),
    ("above the limit", made_of(700.0, 705.0, 710.0, 703.0, 707.0), "fails"),
    ("its median below, the interval not", made_of(400.0, 480.0, 520.0, 470.0, 460.0), None),
    ("four tell nothing", made_of(300.0, 300.0, 301.0, 302.0), None),
    ("one run of nine is off", made_of(300.0, 9e4, 305.0, 310.0, 303.0, 307.0, 308.0, 301.0, 302.0), "holds"),
    ("ten runs on either side", made_of(*[480.0, 520.0] * 5), "undecided"),
    ("infinitely late, twice", made_of(math.inf, math.inf), "fails"),
    ("one run of a bad host", [*made_of(300.0, 305.0, 310.0, 303.0, 307.0), *host(9e3)], "holds"),
    ("slow by the host's doing alone", [*made_of(300.0), *host(700.0, 705.0, 710.0)], None),
    ("disturbed, and fast enough for all that", host(300.0, 305.0, 310.0, 303.0, 307.0), "holds"),
    (
        "not clear by itself, clear with the disturbed",
        [*made_of(300.0, 600.0, 301.0, 302.0, 303.0), *host(*[300.0] * 4)],
        None,
    ),
    ("disturbed too often", host(*[700.0] * max(DISTURBED, RUNS[0])), "spoiled"),
    ("disturbed often, calm more often", [*made_of(*[480.0, 520.0] * 2, 500.0), *host(*[700.0] * 4)], None),
    ("a busy client, slow", client(700.0, 705.0), "unmet"),
    ("a busy client, fast enough", client(300.0, 305.0, 310.0, 303.0, 307.0), "holds"),
    ("one busy client", [*client(700.0), *made_of(700.0, 705.0, 710.0, 703.0, 707.0)], "fails"),
    ("one run was not carried", [*made_of(300.0, 305.0, 310.0, 303.0, 307.0), *short(9e3)], None),
    ("two were not, by the server", [*made_of(300.0), *short(9e3, 8e3)], "fails"),
    ("two were not, by the client", short(9e3, 8e3, by_client=True), "unmet"),
    ("errors once", [*made_of(300.0, 305.0, 310.0, 303.0, 307.0), *made_of(3.0, kind="errors")], "holds"),
    ("errors twice", [*made_of(300.0), *made_of(3.0, 3.0, kind="errors")], "unmet"),
]


@each_row(("case", "made", "expected"), JUDGED, ids=[case for case, *_ in JUDGED])
def test_a_step_is_judged_by_its_interval_and_by_what_spoiled_it(case, made, expected):
    found = judge(made, P99, RUNS)
    assert (found.outcome if found else None) == expected, (case, found)


def test_more_runs_can_be_asked_of_every_step():
    six = made_of(300.0, 301.0, 302.0, 303.0, 304.0, 305.0)
    assert judge(six, P99, (7, 8)) is None
    assert judge([*six, *made_of(301.0)], P99, (7, 8)) is not None
    with pytest.raises(ValueError):  # noqa: PT011 - more runs than may be made
        ObjectiveRule("p99", 500.0, 8, 9)


@each_row("kind", ["counted", "host", "client", "errors", "short"])
def test_a_step_ends_whatever_its_runs_are(kind):
    for value in (499.0, 501.0, math.inf):
        made: list[StepRun] = []
        while judge(made, P99, RUNS) is None:
            made += made_of(value + (len(made) % 2) * 1e-3, kind=kind, carried=1.0)
            assert len(made) <= 2 * RUNS[1], (kind, value)


def test_what_a_saturated_server_carried_is_kept_as_a_bound():
    found = judge(short(9_000.0, 9_400.0), P99, RUNS)
    assert found is not None
    assert found.at_most_per_s == 9_400.0


def test_every_term_must_hold_and_one_that_fails_is_enough():
    both = parse_objective("p99<500us,errors<1%")
    good = [StepRun({"p99": v, "errors": 0.001}) for v in (300.0, 301.0, 302.0, 303.0, 304.0)]
    assert judge(good, both, RUNS).outcome == "holds"  # type: ignore[union-attr]
    bad = [StepRun({"p99": v, "errors": 0.02 + v * 1e-6}) for v in (300.0, 301.0, 302.0, 303.0, 304.0)]
    found = judge(bad, both, RUNS)
    assert found is not None
    assert (found.outcome, found.why.code, found.why.values["name"]) == ("fails", "fails", "errors")


def told(objective: str = "p99<500us", plan: dict[str, Any] | None = None, **given: Any) -> StepRun:
    e = evidence(plan=plan, runs=[run(1)])
    return step_run(run(1, record={"target": e.target}, **given), e.plan, parse_objective(objective))


def test_a_run_without_fault_is_sound():
    assert told().kind == "counted"
    assert told().values == {"p99": pytest.approx(50.3)}


def test_lateness_is_compared_with_the_limit_and_not_with_the_latency_of_the_run():
    assert told(send_delay={"p99": 60.0}).kind == "host"
    assert told(send_delay={"p99": 60.0}, latency={"p99": 5e3}).kind == "host"
    assert told(send_delay={"p99": 30.0}, service={"p99": 20.0}).kind == "counted"
    assert (
        told(send_delay={"p50": 60.0}).kind == "counted"
    )  # of another quantile than the one that is limited


def test_errors_are_a_share_where_they_are_limited():
    one = told("p99<500us,errors<10%,unanswered<1%", counts={"done": 95_000, "errors": 5_000})
    assert one.kind == "counted"
    assert one.values["errors"] == pytest.approx(0.05)
    assert one.values["unanswered"] == 0.0


def test_the_rule_stops_the_procedure_when_the_step_is_judged_and_shows_its_interval():
    e = evidence(plan={"runs": RUNS})
    rule = StepRule(P99, e.plan)
    assert not rule.decide({}).stop
    for number in range(1, 6):
        assert not rule.decide({}).stop
        rule.record(run(number, record={"target": e.target}))
    decision = rule.decide({})
    assert (decision.stop, decision.reached, decision.next_look) == (True, True, None)
    shown = rule.interval()
    assert shown["low"] < shown["value"] < shown["high"] < 60.0


@each_row(
    ("text", "code"),
    [
        ("errors<1%", "bad-value"),  # a server that answers late meets it at any rate
        ("p99<500us,p99<1ms", "duplicate-name"),
        ("p99=5", "bad-value"),
        ("", "bad-value"),
        ("p99<500us,", "bad-value"),
        ("p99<500us,errors<fast", "bad-value"),
    ],
)
def test_an_objective_that_means_nothing_is_refused(text, code):
    with raises(UsageError, code) as caught:
        parse_objective(text)
    assert caught.value.hint


@given(st.lists(st.floats(1.0, 1e6) | st.just(math.inf), min_size=1, max_size=12), st.floats(1.0, 1e6))
def test_what_holds_or_fails_never_has_the_limit_in_its_interval(values, limit):
    rule = ObjectiveRule("p99", limit, 12)
    found, interval = rule.holds(values), rule.interval(values)
    if found is True:
        assert interval.high < limit
    if found is False:
        assert (interval.known and interval.low >= limit) or all(map(math.isinf, values))


def test_the_typical_run_decides_where_some_runs_are_off():
    """Of 400 steps whose typical run lies 10 % below the limit, while one run in twenty is 20 times slower."""
    g = np.random.default_rng(1)
    wrong = held = 0
    for _ in range(400):
        runs = (450.0 * g.lognormal(0.0, 0.05, 12) * np.where(g.random(12) < 0.05, 20.0, 1.0)).tolist()
        made: list[StepRun] = []
        while judge(made, P99, (5, 12)) is None:
            made += made_of(runs[len(made)])
        outcome = judge(made, P99, (5, 12)).outcome  # type: ignore[union-attr]
        wrong, held = wrong + (outcome == "fails"), held + (outcome == "holds")
    assert wrong == 0  # .0000 documented
    assert held > 360  # 97 % documented


STOLEN = {"server_steal_share": 0.05}


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
def test_an_objective_on_isolated_latency_counts_runs_that_were_stolen_from(objective, isolated, kind, us):
    e = evidence(runs=[run(1)])
    one = run(1, record={"target": e.target} | STOLEN, isolated=isolated)
    found = step_run(one, e.plan, parse_objective(objective))
    assert found.kind == kind
    assert next(iter(found.values.values())) == pytest.approx(us)
