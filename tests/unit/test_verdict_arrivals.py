"""Arrival processes: deviations from the plan are reported, chance is not."""

import dataclasses

import pytest
from evidence import arrivals, client, host, neighbour, reasons, ten, thread, with_record
from msgspec import UNSET
from rows import each_row

from hindmost.core.store.measure.runs import C2, Arrivals, ScheduledGaps


def runs_with(distance=0.0, dispersion=1.0, error=0.03, chance=0.0, **scheduled):
    """Return ten runs with these figures of sends; `chance` is half the width of the interval of the distance."""
    spans = ("1ms", "10ms", "100ms")
    arrivals = Arrivals(
        gaps=100_000,
        distance=distance,
        low=max(0.0, distance - chance),
        high=min(1.0, distance + chance),
        anderson_darling=1.0,
        dispersion=dict.fromkeys(spans, dispersion),
        dispersion_error=dict.fromkeys(spans, error),
        scheduled=ScheduledGaps(
            dispersion=dict.fromkeys(spans, scheduled["scattered"]), c2=scheduled.get("c2")
        )
        if scheduled
        else UNSET,
    )
    return ten(clients=lambda: [dataclasses.replace(client(i), arrivals=arrivals) for i in (0, 1)])


@each_row(
    ("figures", "level"),
    [
        ({}, None),
        ({"distance": 0.14}, None),  # the effect of write calls of some microseconds at 20,000/s
        ({"distance": 0.16}, "note"),
        ({"distance": 0.39}, "note"),
        ({"distance": 0.41}, "invalid"),
        ({"distance": 0.48, "chance": 0.68}, None),  # four gaps a run
        ({"distance": 0.48, "chance": 0.14}, "note"),  # a hundred
        ({"dispersion": 1.06}, None),  # 5 % and three standard errors of twenty instances' mean
        ({"dispersion": 1.09}, "note"),
        ({"dispersion": 12.0}, "note"),
        ({"dispersion": 0.8}, "note"),
        ({"dispersion": 0.8, "error": 0.3}, None),  # too few spans
        ({"dispersion": 1.3, "error": 0.5}, None),
    ],
)
def test_arrivals_are_judged_by_distance_and_dispersion(figures, level):
    result = reasons(runs=runs_with(**figures))
    assert (result["arrivals-differ"].level if "arrivals-differ" in result else None) == level


def test_dispersion_is_reported_with_its_expected_value():
    values = reasons(runs=runs_with(dispersion=1.3))["arrivals-differ"].values
    assert values["dispersion"]["1ms"] == {"value": pytest.approx(1.3), "requested": 1.0}


def test_without_a_distance_only_dispersion_is_judged():
    plain = ten(clients=lambda: [client(arrivals=arrivals(None, 1.0))])
    assert "arrivals-differ" not in reasons(runs=plain)
    clumped = ten(clients=lambda: [client(arrivals=arrivals(None, 1.3))])
    assert reasons(runs=clumped)["arrivals-differ"].values["distance"] is None


def test_equal_gaps_must_not_vary():
    plan = {"arrivals": "deterministic"}
    assert "arrivals-differ" in reasons(runs=runs_with(dispersion=1.0), plan=plan)
    assert "arrivals-differ" not in reasons(runs=runs_with(dispersion=0.04), plan=plan)


SERVER, NAMESAKE, STRANGER = 4, 5, 6


def runs_shared_with(*neighbours, pids=(SERVER,)):
    """Return ten runs with wrong arrivals, whose client waited half of the time for its processor."""
    runs = with_record(runs_with(distance=0.55), server_process="hindmost", server_pids=pids)
    for run in runs:
        beside = host(neighbours={"named": list(neighbours), "more": 0, "forks": 0})
        run.clients[:] = [
            dataclasses.replace(
                client(threads=[thread(delay_ns=5_000_000_000)], host=beside), arrivals=one.arrivals
            )
            for one in run.clients
        ]
    return runs


def program(pid, share, name="hindmost"):
    """Return a program that ran for a share of the ten seconds, last on the clients' processor."""
    return neighbour(name, pid=pid, on_cpu_ns=int(share * 10e9), bound=False)


@each_row(
    ("neighbours", "pids", "origin"),
    [
        ([program(STRANGER, 0.4, "cc1")], [SERVER], "host"),
        ([program(NAMESAKE, 0.4)], [SERVER], "host"),  # another process with the name of the server
        (
            [program(SERVER, 0.001), program(STRANGER, 0.4, "cc1")],
            [SERVER],
            "host",
        ),  # it ran only briefly
        (
            [program(SERVER, 0.6), program(STRANGER, 0.1, "cc1")],
            [SERVER],
            "client",
        ),  # the server may have used all of it
        ([program(SERVER, 0.3), program(NAMESAKE, 0.3)], [SERVER, NAMESAKE], "client"),
        ([program(NAMESAKE, 0.6)], None, "client"),  # an older study has only the name
    ],
)
def test_the_host_causes_gaps_if_another_program_shares_the_clients_processor(neighbours, pids, origin):
    result = reasons(runs=runs_shared_with(*neighbours, pids=pids))["arrivals-differ"]
    assert (result.origin, result.level) == (origin, "inconclusive" if origin == "host" else "invalid")


GAMMA = {"kind": "gamma", "shape": 0.5}


@each_row(
    ("sent", "scheduled", "found"),
    [
        (1.7, 1.7, False),  # the due times have this dispersion by chance
        (1.7, 2.0, True),
        (8.3, 8.0, False),  # relative to the plan
        (0.53, 0.5, False),
    ],
)
def test_a_law_without_known_parts_is_compared_with_due_times(sent, scheduled, found):
    runs = runs_with(dispersion=sent, scattered=scheduled)
    assert ("arrivals-differ" in reasons(runs=runs, plan={"arrivals": GAMMA})) == found


@each_row(
    ("c2", "error", "level"),
    [
        (1.0, 0.03, None),
        (1.04, 0.03, None),  # five standard errors of the mean of twenty instances, plus 2 %
        (0.5, 0.03, "invalid"),
        (2.0, 0.03, "invalid"),
        (0.5, 5.0, None),  # too few gaps
    ],
)
def test_due_times_of_a_wrong_law_are_reported(c2, error, level):
    result = C2(value=c2, requested=1.0, error=error)
    outcome = reasons(runs=runs_with(scattered=1.0, c2=result), plan={"arrivals": GAMMA}).get(
        "schedule-differs"
    )
    assert (outcome.level if outcome else None) == level
    if outcome:
        assert (outcome.values["law"], outcome.values["c2"]) == ("gamma:shape=0.5", c2)
