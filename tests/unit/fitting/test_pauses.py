"""Pauses in services are the host's by the clock or waits inside requests: arrivals at idle threads tell."""

from dataclasses import replace

import pytest
from pausing import queue_with_pauses

from hindmost.models.fit import fit_clone
from hindmost.models.fit.demand import demand
from hindmost.models.fit.pauses.detection import find_pauses

from .planted import by_code


def found(log):
    return find_pauses(log, demand(log))


@pytest.mark.parametrize("whom", ["request", "clock"])
@pytest.mark.parametrize(
    "world",
    [
        {},
        {"load": 0.2},
        {"pause_us": 500.0, "share": 0.01},
        {"spread": 0.7},
        {"threads": 3, "load": 0.7, "pause_us": 500.0, "share": 0.02},
    ],
    ids=["one in 500", "low load", "short and often", "of all lengths", "three threads"],
)
def test_whom_pauses_hit_is_told(whom, world):
    judged = found(queue_with_pauses(whom, 4, **world))
    assert judged.scope.whom == whom, judged.scope
    low, high = judged.scope.clock[1:]
    assert low <= (whom == "clock") <= high


def test_waits_inside_requests_are_a_chance_for_each_request_and_no_process_by_the_clock():
    log = queue_with_pauses("request", 1)
    fit = fit_clone(log)
    (wait,) = fit.clone.document["disturbances"]
    assert (wait["scope"], wait["when"]["kind"]) == ("request", "chance")
    low, high = fit.clone.document["origin"]["intervals"]["disturbances[0].when.probability"]
    assert low < 0.002 < high
    assert fit.clone.stopped_share == 0.0
    assert not {"excluded-pauses", "unknown-pause-origin", "contaminated-tail"} & by_code(fit.unknown).keys()


def test_waits_of_the_server_itself_stay_where_the_clone_runs_on_the_same_host():
    kept = fit_clone(queue_with_pauses("request", 1), disturbed=False)
    assert [one["scope"] for one in kept.clone.document["disturbances"]] == ["request"]
    left = fit_clone(queue_with_pauses("clock", 1), disturbed=False)
    assert not left.clone.document.get("disturbances")
    assert by_code(left.unknown)["excluded-pauses"].values["pauses"] > 10


def test_interrupts_by_the_clock_beside_waits_inside_requests_are_two_sorts():
    log = queue_with_pauses("clock", 2, pause_us=60.0, share=0.05, waits=(0.003, 8_000.0))
    inside, clock = found(log).parts
    assert inside.hits == pytest.approx(0.003 * log.n, rel=0.3)
    assert inside.lengths_us.min() > 7_000.0
    assert clock.per_second == pytest.approx(0.05 / 100e-6, rel=0.1)
    assert [one["scope"] for one in fit_clone(log).clone.document["disturbances"]] == ["request", "thread"]


def test_interrupts_shorter_than_a_wake_up_are_not_taken_for_the_requests_own():
    log = queue_with_pauses("clock", 2, pause_us=7.0, share=0.003, waits=(0.003, 8_000.0))
    inside, clock = found(log).parts
    assert inside.lengths_us.min() > 7_000.0
    assert clock.lengths_us.max() < 100.0


def test_where_arrivals_are_stamped_late_or_not_at_all_it_is_unknown_and_said():
    log = queue_with_pauses("clock", 4)
    # The thread stamps arrivals itself: nobody arrives while it is at something else.
    own = replace(log, arrival_us=log.start_us.copy())
    judged = found(own)
    assert judged.scope.whom == "untold"
    assert judged.scope.why.code == "unstamped-arrivals"
    note = by_code(fit_clone(own).unknown)["unknown-pause-origin"]
    assert note.values["reason"] == "unstamped-arrivals"
    assert note.values["stamped"] < 0.5
    silent = replace(log, arrival_us=None)
    assert found(silent).scope.whom == "untold"
    assert [one["scope"] for one in found(silent).documents()] == ["thread"]
