"""Pauses in services hit the host by the clock or single requests; arrivals at idle threads tell which."""

from dataclasses import replace

import pytest
from pausing import queue_with_pauses

from hindmost.commands.clone.fit import fit_clone
from hindmost.commands.clone.fit.demand import demand
from hindmost.commands.clone.fit.pauses.detection import find_pauses

from .planted import by_code


def pauses_of(log):
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
    ids=["one in 500", "low load", "short and frequent", "spread lengths", "three threads"],
)
def test_the_scope_of_pauses_is_found(whom, world):
    pauses = pauses_of(queue_with_pauses(whom, 4, **world))
    assert pauses.scope.whom == whom, pauses.scope
    low, high = pauses.scope.clock[1:]
    assert low <= (whom == "clock") <= high


def test_waits_inside_requests_get_a_probability_per_request():
    log = queue_with_pauses("request", 1)
    fit = fit_clone(log)
    (wait,) = fit.clone.document["disturbances"]
    assert (wait["scope"], wait["when"]["kind"]) == ("request", "chance")
    low, high = fit.clone.document["origin"]["intervals"]["disturbances[0].when.probability"]
    assert low < 0.002 < high
    assert fit.clone.stopped_share == 0.0
    assert not {"excluded-pauses", "unknown-pause-origin", "contaminated-tail"} & by_code(fit.unknown).keys()


def test_a_clone_for_the_same_host_keeps_only_waits_of_the_server():
    local_fit = fit_clone(queue_with_pauses("request", 1), disturbed=False)
    assert [disturbance["scope"] for disturbance in local_fit.clone.document["disturbances"]] == ["request"]
    remote_fit = fit_clone(queue_with_pauses("clock", 1), disturbed=False)
    assert not remote_fit.clone.document.get("disturbances")
    assert by_code(remote_fit.unknown)["excluded-pauses"].values["pauses"] > 10


def test_interrupts_and_waits_inside_requests_are_separated():
    log = queue_with_pauses("clock", 2, pause_us=60.0, share=0.05, waits=(0.003, 8_000.0))
    inside, clock = pauses_of(log).parts
    assert inside.hits == pytest.approx(0.003 * log.n, rel=0.3)
    assert inside.lengths_us.min() > 7_000.0
    assert clock.per_second == pytest.approx(0.05 / 100e-6, rel=0.1)
    assert [disturbance["scope"] for disturbance in fit_clone(log).clone.document["disturbances"]] == [
        "request",
        "thread",
    ]


def test_interrupts_shorter_than_a_wakeup_are_not_attributed_to_requests():
    log = queue_with_pauses("clock", 2, pause_us=7.0, share=0.003, waits=(0.003, 8_000.0))
    inside, clock = pauses_of(log).parts
    assert inside.lengths_us.min() > 7_000.0
    assert clock.lengths_us.max() < 100.0


def test_without_reliable_arrival_stamps_the_scope_is_noted_as_unknown():
    log = queue_with_pauses("clock", 4)
    # The thread stamps arrivals itself, so no arrival is stamped while it works.
    self_stamped = replace(log, arrival_us=log.start_us.copy())
    pauses = pauses_of(self_stamped)
    assert pauses.scope.whom == "untold"
    assert pauses.scope.why.code == "unstamped-arrivals"
    note = by_code(fit_clone(self_stamped).unknown)["unknown-pause-origin"]
    assert note.values["reason"] == "unstamped-arrivals"
    assert note.values["stamped"] < 0.5
    without_arrivals = replace(log, arrival_us=None)
    assert pauses_of(without_arrivals).scope.whom == "untold"
    assert [disturbance["scope"] for disturbance in pauses_of(without_arrivals).documents()] == ["thread"]
