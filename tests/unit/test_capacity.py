"""What is said where the asked rate was not carried: by whom, how much was, and how to find what holds."""

from __future__ import annotations

from typing import Any

import pytest
from evidence import client, evidence, reasons, run, ten
from rows import each_row

from hindmost.run.capacity import replies_per_s, saturation
from hindmost.run.figures import ClientFigures, RunFigures

HALF = {"completed": 50_000, "timeouts": 30_000, "unsent": 20_000}


def windows(per_s: float, until_s: float = 13.0) -> list[dict[str, int]]:
    """Replies in windows of 100 ms: none in the warm-up of 2 s, `per_s` afterwards, calibration included."""
    return [
        {"at_ns": 100_000_000 * i, "count": round(per_s / 10) if i > 20 else 0, "p50_ns": 1, "p99_ns": 1}
        for i in range(1, round(until_s * 10) + 1)
    ]


def answering(per_s: float, **more: Any) -> ClientFigures:
    """An instance with two workers, each of which had half of it answered."""
    return client(series=[windows(per_s / 2), windows(per_s / 2)], **more)


def shares(silent: int = 0, chi_square: float = 15.0) -> dict[str, Any]:
    return {"connections": 16, "least": 900, "most": 1100, "chi_square": chi_square, "silent": silent}


def with_shares(**given: Any) -> ClientFigures:
    worker = {"busy_share": 0.1, "run_delay_share": 0.0, "span": {"involuntary_switches": 0}, "cpu": 1}
    return answering(4_000.0, threads=[worker | {"shares": shares(**given)}])


def short(by: ClientFigures, **given: Any) -> list[RunFigures]:
    return [run(n, counts=HALF, clients=[by], **given) for n in range(1, 4)]


def found(runs: list[RunFigures], **plan: Any) -> Any:
    e = evidence(plan=plan)
    return saturation(e.plan, e.target, runs)


def test_replies_are_counted_in_the_measurement_only_whenever_they_were_due():
    plan = evidence().plan
    assert replies_per_s(run(clients=[answering(4_000.0)]), plan) == pytest.approx(4_000.0)
    assert replies_per_s(run(clients=[answering(4_000.0), answering(1_000.0)]), plan) == pytest.approx(
        5_000.0
    )
    assert replies_per_s(run(clients=[client(series=[[], []])]), plan) == 0.0


@each_row(
    ("clients", "server", "by", "values"),
    [
        (answering(5_000.0), 0.99, "server", {"server_busy": pytest.approx(0.99), "answered_per_s": 5_000.0}),
        (answering(5_000.0), 0.3, "server", {"server_busy": 0.3, "share": pytest.approx(0.5)}),
        (answering(5_000.0, busy=0.97), 0.3, "client", {"client_busy": 0.97}),
        (answering(5_000.0, busy=0.97), 0.99, "server", {"client_busy": 0.97}),
        (with_shares(silent=3), 0.3, "connections", {"silent": 9, "connections": 48}),
        (answering(0.0), 0.0, "silence", {"answered_per_s": 0.0}),
    ],
)
def test_an_unmet_rate_names_who_could_not_carry_it(clients, server, by, values):
    runs = short(clients, record={"server_cpu_share": server})
    full = found(runs)
    assert full.by == by
    reason = reasons(runs=runs)["rate-not-reached"]
    assert {name: reason.values[name] for name in ("by", *values)} == {"by": by, **values}
    assert reason.level == ("invalid" if by == "client" else "inconclusive"), "who is to blame"
    assert (full.find in (reason.hint or "")) is (by == "server")


def test_what_was_answered_late_counts_as_carried():
    runs = short(answering(5_000.0))
    for one in runs:
        one.counts.update(completed=100, timeouts=99_900, unsent=0)
    assert found(runs).answered.value == pytest.approx(5_000.0)


def test_the_search_starts_below_what_was_answered_and_repeats_what_was_asked():
    full = found(short(answering(5_000.0)), connections=1_000, target="synth?idle=spin")
    assert full.find == (
        "hindmost measure 'synth?idle=spin' --find-rate 'p99<200ms' --rate 3500 --connections 1000"
    )


def test_a_rate_that_was_carried_has_no_saturation():
    assert found([run()]) is None
    assert found(short(answering(5_000.0)), rate_per_s=None) is None


def test_more_runs_are_not_asked_for_where_the_rate_cannot_be_had():
    e = evidence()
    undecided = e.decision.__class__(True, False, "known to ±80 %", None, 3, "p99", 0.8)
    assert "wide-intervals" not in reasons(runs=short(answering(5_000.0)), decision=undecided)
    assert "wide-intervals" in reasons(runs=ten(), decision=undecided)


@each_row(("chi_square", "level"), [(15.0, None), (60.0, None), (80.0, "note")])
def test_uneven_shares_of_connections_are_told(chi_square, level):
    # With 15 degrees of freedom 60 has a chance of 2e-7 and 80 of 7e-11, of ten runs.
    runs = ten(clients=lambda: [with_shares(chi_square=chi_square)])
    reason = reasons(runs=runs).get("uneven-connections")
    assert (reason.level if reason else None) == level


def test_shares_say_nothing_where_connections_were_lost_or_full():
    runs = [run(n, counts=HALF, clients=[with_shares(chi_square=500.0)]) for n in range(1, 11)]
    assert "uneven-connections" not in reasons(runs=runs)
