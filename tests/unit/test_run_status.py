"""Status of a run: each disturbance is found by its own counter, whatever the speed of the server."""

from __future__ import annotations

import math
from typing import Any

import pytest
from evidence import LABELS, arrivals, by_stage, client, evidence, host, neighbour, run, thread
from msgspec import UNSET
from rows import each_row

from hindmost.core.run import limits
from hindmost.core.run.isolated import Refusal, RunIsolated
from hindmost.core.run.status import RepeatBudget, RunStatus, status
from hindmost.core.store.estimates import to_document

LATE_BY_INTERRUPTION = by_stage(waiting=2_000)
"""Two in a hundred requests were late because the CPU was taken away."""


def judge_run(
    plan: dict[str, Any] | None = None, against: dict[str, float] | None = None, **given: Any
) -> RunStatus:
    e = evidence(plan=plan, runs=[run(1)])
    record = {"target": to_document(e.target)} | given.pop("record", {})
    return status(run(1, record=record, **given), e.plan, against=against)


def spinning_clients(**changes: Any) -> list[Any]:
    return [client(0, threads=[thread(**changes)]), client(1)]


def late_values(us: float, **changes: Any) -> dict[str, Any]:
    """Return values with this send delay at p99, 2 us of which are write calls."""
    figures = run(1, send_delay={"p99": us})
    figures.values["ideal_send_delay"] = {**figures.values["send_delay"], "p99": 2.0}
    return {"values": figures.values, **changes}


def status_with(values: dict[str, Any], plan: dict[str, Any] | None = None, **given: Any) -> RunStatus:
    e = evidence(plan=plan, runs=[run(1)])
    figures = run(1, record={"target": to_document(e.target)}, **given)
    figures.values.clear()
    figures.values.update(values)
    return status(figures, e.plan)


DISTURBED = [
    ("nothing", {}, "counted", ""),
    (
        "steal time of a client",
        {"clients": [client(0, steal_share=0.02)]},
        "host",
        "steal-time",
    ),
    ("steal time of the server", {"record": {"server_steal_share": 0.02}}, "host", "steal-time"),
    (
        "other processes on a client's CPU",
        {"clients": spinning_clients(delay_ns=80_000_000)},
        "host",
        "run-delay",
    ),
    ("an occasional kernel thread", {"clients": spinning_clients(delay_ns=30_000_000)}, "counted", ""),
    (
        "a throttled client",
        {"clients": [client(0, host=host(throttled={"periods": 3, "period_us": 100_000}))]},
        "host",
        "throttled",
    ),
    (
        "an overloaded client",
        {"clients": [client(0, busy=0.85), client(1)]},
        "client",
        "client-busy",
    ),
    (
        "requests sent in bursts",
        {"clients": [client(0, arrivals=arrivals(0.6))]},
        "host",
        "arrivals-differ",
    ),
    (
        "bursts of a busy client",
        {"clients": [client(0, arrivals=arrivals(0.6), busy=0.7)]},
        "client",
        "arrivals-differ",
    ),
    ("errors of the server", {"counts": {"completed": 95_000, "errors": 5_000}}, "errors", "errors"),
    (
        "the rate was not reached",
        {"counts": {"completed": 50_000, "timeouts": 50_000}},
        "short",
        "rate-not-reached",
    ),
]


@pytest.mark.parametrize(("case", "given", "kind", "code"), DISTURBED, ids=[case for case, *_ in DISTURBED])
@pytest.mark.parametrize("slower", [1.0, 0.01, 1e4])
def test_a_disturbance_is_found_whatever_the_latency(case, given, kind, code, slower):
    record = {"target": to_document(evidence().target)} | given.get("record", {})
    figures = run(1, **given | {"record": record})
    for figure in ("latency", "service"):
        figures.values[figure] = {name: slower * us for name, us in figures.values[figure].items()}
    run_status = status(figures, evidence().plan)
    assert (run_status.kind, run_status.code) == (kind, code)
    assert bool(run_status.why) != run_status.is_sound


@each_row(
    ("us", "stage", "pacing", "kind"),
    [
        (80.0, LATE_BY_INTERRUPTION, "spin", "host"),
        (80.0, by_stage(writing=9_000), "spin", "counted"),
        (limits.AWAY_US, LATE_BY_INTERRUPTION, "spin", "counted"),
        (80.0, by_stage(waiting=500), "spin", "counted"),
        (80.0, LATE_BY_INTERRUPTION, "sleep", "counted"),
    ],
    ids=["interrupted", "own write calls", "interrupts", "rare", "sleeping client"],
)
def test_a_spinning_client_detects_interruptions_by_its_clock(us, stage, pacing, kind):
    run_status = status_with(plan={"pacing": pacing}, clients=spinning_clients(late=stage), **late_values(us))
    assert run_status.kind == kind, run_status


@each_row(
    ("traced", "delay_ns", "kind"),
    [(True, 320_000_000, "counted"), (False, 320_000_000, "host"), (True, 520_000_000, "host")],
    ids=["own trace", "no own trace", "own trace and others"],
)
def test_cpu_time_of_the_runs_own_trace_does_not_exclude_it(traced, delay_ns, kind):
    tracer = [neighbour("hindmost-trace", process="hindmost", on_cpu_ns=320_000_000)]
    traced_host = host(neighbours={"named": tracer, "more": 0, "forks": 0})
    clients = [client(0, threads=[thread(delay_ns=delay_ns)], host=traced_host), client(1)]
    record = {"trace": {"file": "trace.json"}} if traced else {}
    assert judge_run(clients=clients, record=record).kind == kind


def test_a_closed_loop_and_unknown_counters_give_no_reason():
    worker = thread(run_delay_share=None)
    unknown = [client(0, threads=[worker], steal_share=None, host=UNSET, arrivals=None)]
    assert judge_run(clients=unknown).is_sound
    assert judge_run(
        {"loop": "closed", "rate_per_s": None}, {"p99": 100.0}, send_delay={"p99": 90.0}
    ).is_sound


def test_late_sends_count_relative_to_an_earlier_figure():
    assert judge_run(against={"p99": 100.0}, send_delay={"p99": 4.0}).is_sound  # less than on a quiet host
    assert judge_run(against={"p99": 30.0}, send_delay={"p99": 6.0}).kind == "host"
    assert judge_run(against={"p99": 1e3}, send_delay={"p99": 6.0}).is_sound
    busy = judge_run(against={"p99": 30.0}, send_delay={"p99": 6.0}, clients=[client(0, busy=0.7), client(1)])
    assert (busy.kind, busy.code) == ("client", "late-sends")
    assert (
        judge_run({"pacing": "sleep"}, {"p99": 30.0}, send_delay=dict.fromkeys(LABELS, 60.0)).kind == "client"
    )


def test_errors_do_not_exclude_a_run_if_errors_are_limited():
    e = evidence(runs=[run(1)])
    figures = run(1, record={"target": to_document(e.target)}, counts={"completed": 95_000, "errors": 5_000})
    assert status(figures, e.plan, errors_judged=True).is_sound


def test_half_as_many_runs_are_repeated_as_requested_and_each_at_most_twice():
    budget = RepeatBudget(8)
    assert [budget.allows_repeat(repeated) for repeated in range(6)] == [True, True, True, True, False, False]
    assert [budget.allows_repeat(0, attempts) for attempts in (1, 2, 3)] == [True, True, False]
    assert not RepeatBudget(10, share=0.0).allows_repeat(0)


@each_row(
    ("given", "isolated", "kind"),
    [
        ({"record": {"server_steal_share": 0.05}}, RunIsolated(values={"p50": 20.0}), "counted"),
        (
            {"record": {"server_steal_share": 0.05}},
            RunIsolated(refused=Refusal("shared-cpus", "", "")),
            "host",
        ),
        ({"record": {"server_steal_share": 0.05}}, None, "host"),
        (
            {"record": {"server_steal_share": 0.05}, "clients": [client(0, busy=0.85), client(1)]},
            RunIsolated(values={"p50": 20.0}),
            "client",
        ),
        (
            {"clients": [client(0, host=host(throttled={"periods": 3, "period_us": 100_000}))]},
            RunIsolated(values={"p50": 20.0}),
            "host",
        ),
    ],
    ids=["isolated", "refused", "not looked for", "busy client", "throttled client"],
)
def test_interference_excludes_no_run_if_isolated_latency_decides_and_leaves_it_out(given, isolated, kind):
    e = evidence(runs=[run(1)])
    record = {"target": to_document(e.target)} | given.get("record", {})
    figures = run(1, isolated=isolated, **{**given, "record": record})
    assert status(figures, e.plan, isolated=True).kind == kind
    assert status(figures, e.plan).kind == "host"


@each_row(
    ("interference_share", "refused", "kind"),
    [(0.05, True, "host"), (0.005, True, "counted"), (0.05, False, "counted"), (math.nan, True, "counted")],
)
def test_interruptions_without_isolated_latency_exclude_a_run(interference_share, refused, kind):
    """The kernel has no counter for real-time programs on the server's CPU; the sentinel sees them."""
    why = Refusal("few-counted-requests", "", "") if refused else None
    assert (
        judge_run(
            isolated=RunIsolated(taken=0.5, from_server=interference_share, interruptions=9, refused=why)
        ).kind
        == kind
    )
