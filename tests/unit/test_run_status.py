"""Soundness: each disturbance is told by its own counter, and nothing that the server's speed decides tells it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from evidence import LABELS, arrivals, by_stage, client, evidence, host, neighbour, run, thread
from rows import each_row

from hindmost.run import limits
from hindmost.run.isolated import Refusal, RunIsolated
from hindmost.run.status import RepeatBudget, RunStatus, status

AWAY = by_stage(waiting=2_000)
"""Two in a hundred left late because the processor was away."""


def judged(
    plan: dict[str, Any] | None = None, against: dict[str, float] | None = None, **given: Any
) -> RunStatus:
    e = evidence(plan=plan, runs=[run(1)])
    record = {"target": e.target} | given.pop("record", {})
    return status(run(1, record=record, **given), e.plan, against=against)


def spun(**changes: Any) -> list[Any]:
    return [client(0, threads=[thread(**changes)]), client(1)]


def slipping(us: float, **given: Any) -> dict[str, Any]:
    """Requests that left so late at p99, of which write calls alone make 2 us."""
    made = run(1, send_delay={"p99": us})
    made.values["ideal_send_delay"] = {**made.values["send_delay"], "p99": 2.0}
    return {"values": made.values, **given}


def replaced(values: dict[str, Any], plan: dict[str, Any] | None = None, **given: Any) -> RunStatus:
    e = evidence(plan=plan, runs=[run(1)])
    one = run(1, record={"target": e.target}, **given)
    one.values.clear()
    one.values.update(values)
    return status(one, e.plan)


DISTURBED = [
    ("nothing", {}, "counted", ""),
    (
        "the hypervisor took a client's processor",
        {"clients": [client(0, steal_share=0.02)]},
        "host",
        "steal-time",
    ),
    ("the hypervisor took the server's", {"record": {"server_steal_share": 0.02}}, "host", "steal-time"),
    ("others had a client's processor", {"clients": spun(delay_ns=80_000_000)}, "host", "run-delay"),
    ("a kernel thread now and then", {"clients": spun(delay_ns=30_000_000)}, "counted", ""),
    (
        "a quota stopped a client",
        {"clients": [client(0, host=host(throttled={"periods": 3, "period_us": 100_000}))]},
        "host",
        "throttled",
    ),
    (
        "a client had too much to do",
        {"clients": [client(0, busy=0.85), client(1)]},
        "client",
        "client-busy",
    ),
    (
        "requests left in clumps",
        {"clients": [client(0, arrivals=arrivals(0.6))]},
        "host",
        "arrivals-differ",
    ),
    (
        "and the client was busy",
        {"clients": [client(0, arrivals=arrivals(0.6), busy=0.7)]},
        "client",
        "arrivals-differ",
    ),
    ("the server failed", {"counts": {"completed": 95_000, "errors": 5_000}}, "errors", "errors"),
    (
        "the rate was not carried",
        {"counts": {"completed": 50_000, "timeouts": 50_000}},
        "short",
        "rate-not-reached",
    ),
]


@pytest.mark.parametrize(("case", "given", "kind", "code"), DISTURBED, ids=[case for case, *_ in DISTURBED])
@pytest.mark.parametrize("slower", [1.0, 0.01, 1e4])
def test_a_disturbance_is_told_whatever_the_latency_was(case, given, kind, code, slower):
    record = {"target": evidence().target} | given.get("record", {})
    one = run(1, **given | {"record": record})
    for what in ("latency", "service"):
        one.values[what] = {name: slower * us for name, us in one.values[what].items()}
    found = status(one, evidence().plan)
    assert (found.kind, found.code) == (kind, code)
    assert bool(found.why) != found.is_sound


@each_row(
    ("us", "stage", "pacing", "kind"),
    [
        (80.0, AWAY, "spin", "host"),
        (80.0, by_stage(writing=9_000), "spin", "counted"),
        (limits.AWAY_US, AWAY, "spin", "counted"),
        (80.0, by_stage(waiting=500), "spin", "counted"),
        (80.0, AWAY, "sleep", "counted"),
    ],
    ids=["away", "own write calls", "interrupts", "seldom", "asleep by design"],
)
def test_a_spinning_client_tells_by_its_own_clock_that_its_processor_was_away(us, stage, pacing, kind):
    found = replaced(plan={"pacing": pacing}, clients=spun(late=stage), **slipping(us))
    assert found.kind == kind, found


@each_row(
    ("traced", "delay_ns", "kind"),
    [(True, 320_000_000, "counted"), (False, 320_000_000, "host"), (True, 520_000_000, "host")],
    ids=["this run's", "another's", "and somebody else's"],
)
def test_the_trace_of_a_run_is_the_instruments_own_and_sets_it_not_aside(traced, delay_ns, kind):
    ran = [neighbour("hindmost-trace", process="hindmost", on_cpu_ns=320_000_000)]
    beside = host(neighbours={"named": ran, "more": 0, "forks": 0})
    clients = [client(0, threads=[thread(delay_ns=delay_ns)], host=beside), client(1)]
    record = {"trace": {"file": "trace.json"}} if traced else {}
    assert judged(clients=clients, record=record).kind == kind


def test_a_closed_loop_and_counters_that_are_not_known_are_no_reason():
    one = thread()
    one["run_delay_share"] = None
    unknown = [client(0, threads=[one], steal_share=None, host=None, arrivals=None)]
    assert judged(clients=unknown).is_sound
    assert judged({"loop": "closed", "rate_per_s": None}, {"p99": 100.0}, send_delay={"p99": 90.0}).is_sound


def test_lateness_counts_beside_a_figure_that_stood_before_and_its_blame_is_told():
    assert judged(against={"p99": 100.0}, send_delay={"p99": 4.0}).is_sound  # below what a quiet host does
    assert judged(against={"p99": 30.0}, send_delay={"p99": 6.0}).kind == "host"
    assert judged(against={"p99": 1e3}, send_delay={"p99": 6.0}).is_sound
    busy = judged(against={"p99": 30.0}, send_delay={"p99": 6.0}, clients=[client(0, busy=0.7), client(1)])
    assert (busy.kind, busy.code) == ("client", "late-sends")
    assert judged({"pacing": "sleep"}, {"p99": 30.0}, send_delay=dict.fromkeys(LABELS, 60.0)).kind == "client"


def test_errors_disturb_nothing_where_they_are_what_is_asked_for():
    e = evidence(runs=[run(1)])
    one = run(1, record={"target": e.target}, counts={"completed": 95_000, "errors": 5_000})
    assert status(one, e.plan, errors_judged=True).is_sound


def test_half_as_many_runs_are_made_again_as_were_asked_for_and_each_of_them_twice():
    remaking = RepeatBudget(8)
    assert [remaking.allows_repeat(remade) for remade in range(6)] == [True, True, True, True, False, False]
    assert [remaking.allows_repeat(0, attempts) for attempts in (1, 2, 3)] == [True, True, False]
    assert not RepeatBudget(10, share=0.0).allows_repeat(0)


@each_row(
    ("taken", "refused", "kind"),
    [(0.05, True, "host"), (0.005, True, "counted"), (0.05, False, "counted"), (math.nan, True, "counted")],
)
def test_interruptions_that_isolated_latency_cannot_take_out_set_a_run_aside(taken, refused, kind):
    """No counter of the kernel knows of a program at real-time priority on the server's processor; the sentinel does."""
    why = Refusal("few-counted-requests", "", "") if refused else None
    assert (
        judged(isolated=RunIsolated(taken=0.5, from_server=taken, interruptions=9, refused=why)).kind == kind
    )
