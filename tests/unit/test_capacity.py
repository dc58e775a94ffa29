"""What is reported if the server did not carry the requested rate: the bottleneck, the answered rate, and a search."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from evidence import client, evidence, reasons, run, ten
from msgspec import structs
from rows import each_row

from hindmost.core.run.capacity import replies_per_s, saturation
from hindmost.core.run.figures import ClientFigures, RunFigures

HALF = {"completed": 50_000, "timeouts": 30_000, "unsent": 20_000}


def windows(per_s: float, until_s: float = 13.0) -> list[dict[str, int]]:
    """Replies in windows of 100 ms: none in the warm-up of 2 s, then `per_s`, including calibration."""
    return [
        {"at_ns": 100_000_000 * i, "count": round(per_s / 10) if i > 20 else 0, "p50_ns": 1, "p99_ns": 1}
        for i in range(1, round(until_s * 10) + 1)
    ]


def client_answering(per_s: float, **more: Any) -> ClientFigures:
    """Return a client with two workers, each of which received half of the replies."""
    return client(series=[windows(per_s / 2), windows(per_s / 2)], **more)


def shares(silent: int = 0, chi_square: float = 15.0) -> dict[str, Any]:
    return {"connections": 16, "least": 900, "most": 1100, "chi_square": chi_square, "silent": silent}


def with_shares(**changes: Any) -> ClientFigures:
    worker = {"busy_share": 0.1, "run_delay_share": 0.0, "span": {"involuntary_switches": 0}, "cpu": 1}
    return client_answering(4_000.0, threads=[worker | {"shares": shares(**changes)}])


def short_runs(by: ClientFigures, **changes: Any) -> list[RunFigures]:
    return [run(n, counts=HALF, clients=[by], **changes) for n in range(1, 4)]


def saturation_of(runs: list[RunFigures], **plan: Any) -> Any:
    e = evidence(plan=plan)
    return saturation(e.plan, e.target, runs)


def test_only_replies_during_the_measurement_are_counted():
    plan = evidence().plan
    assert replies_per_s(run(clients=[client_answering(4_000.0)]), plan) == pytest.approx(4_000.0)
    assert replies_per_s(
        run(clients=[client_answering(4_000.0), client_answering(1_000.0)]), plan
    ) == pytest.approx(5_000.0)
    assert replies_per_s(run(clients=[client(series=[[], []])]), plan) == 0.0


@each_row(
    ("clients", "server", "by", "values"),
    [
        (
            client_answering(5_000.0),
            0.99,
            "server",
            {"server_busy": pytest.approx(0.99), "answered_per_s": 5_000.0},
        ),
        (client_answering(5_000.0), 0.3, "server", {"server_busy": 0.3, "share": pytest.approx(0.5)}),
        (client_answering(5_000.0, busy=0.97), 0.3, "client", {"client_busy": 0.97}),
        (client_answering(5_000.0, busy=0.97), 0.99, "server", {"client_busy": 0.97}),
        (with_shares(silent=3), 0.3, "connections", {"silent": 9, "connections": 48}),
        (client_answering(0.0), 0.0, "silence", {"answered_per_s": 0.0}),
    ],
)
def test_an_unmet_rate_names_its_bottleneck(clients, server, by, values):
    runs = short_runs(clients, record={"server_cpu_share": server})
    found = saturation_of(runs)
    assert found.by == by
    reason = reasons(runs=runs)["rate-not-reached"]
    assert {name: reason.values[name] for name in ("by", *values)} == {"by": by, **values}
    assert reason.level == ("invalid" if by == "client" else "inconclusive"), (
        "only a saturated client invalidates the result"
    )
    assert (found.find in (reason.hint or "")) is (by == "server")


def test_late_replies_count_as_answered():
    runs = short_runs(client_answering(5_000.0))
    counts = structs.replace(runs[0].counts, completed=100, timeouts=99_900, unsent=0)
    runs = [replace(one, counts=counts) for one in runs]
    assert saturation_of(runs).answered.value == pytest.approx(5_000.0)


def test_the_suggested_search_starts_below_the_answered_rate_and_keeps_the_options():
    found = saturation_of(short_runs(client_answering(5_000.0)), connections=1_000, target="synth?idle=spin")
    assert found.find == (
        "hindmost measure 'synth?idle=spin' --find-rate 'p99<200ms' --rate 3500 --connections 1000"
    )


def test_a_rate_that_was_reached_has_no_saturation():
    assert saturation_of([run()]) is None
    assert saturation_of(short_runs(client_answering(5_000.0)), rate_per_s=None) is None


def test_more_runs_are_not_suggested_if_the_rate_is_out_of_reach():
    e = evidence()
    undecided = e.decision.__class__(True, False, "known to ±80 %", None, 3, "p99", 0.8)
    assert "wide-intervals" not in reasons(runs=short_runs(client_answering(5_000.0)), decision=undecided)
    assert "wide-intervals" in reasons(runs=ten(), decision=undecided)


@each_row(("chi_square", "level"), [(15.0, None), (60.0, None), (80.0, "note")])
def test_uneven_shares_of_connections_are_noted(chi_square, level):
    # With 15 degrees of freedom, 60 has a probability of 2e-7 in ten runs, and 80 of 7e-11.
    runs = ten(clients=lambda: [with_shares(chi_square=chi_square)])
    reason = reasons(runs=runs).get("uneven-connections")
    assert (reason.level if reason else None) == level


def test_uneven_shares_are_not_noted_if_requests_went_unanswered():
    runs = [run(n, counts=HALF, clients=[with_shares(chi_square=500.0)]) for n in range(1, 11)]
    assert "uneven-connections" not in reasons(runs=runs)
