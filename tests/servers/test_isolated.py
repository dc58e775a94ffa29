"""Thefts of a real processor are seen when they were: a thief that writes down its spells, memcached, and our clocks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from interferer import HostInterference
from measuring import need, need_two_cpus

from benches.interruptions import plan_of, run_with_interference
from hindmost.run.figures import RunFigures
from hindmost.store import Study

SHARE, SPELL_MS = 0.1, 3.0
MS = 1_000_000


def need_real_time() -> None:
    """A skip where no thread may have real-time priority."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip("no thread may have real-time priority here")
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def stolen_from(which: str, folder: Path) -> tuple[RunFigures, HostInterference]:
    """One run of 2 s in which a tenth of one processor's time is taken."""
    need("memcached")
    server, client = need_two_cpus()
    need_real_time()
    plan = plan_of("memcached", "5k", 2.0)
    study = Study.create(folder / "study", {"plan": plan.model_dump(mode="json"), "host": {}})
    return run_with_interference(study, 1, plan, {"server": server, "client": client}[which], SHARE, SPELL_MS)


@pytest.mark.nightly  # a thief at real-time priority would be in the way of tests beside it
@pytest.mark.memcached
def test_the_sentinel_sees_every_interruption_that_is_longer_than_its_period(tmp_path):
    run, interference = stolen_from("server", tmp_path)
    (watched,) = run.record["sentinel"]
    sure = watched["period_ns"] + watched["late_ns"]
    spells = [
        (on, off)
        for on, off in interference.spans
        if on > watched["from_ns"] and off < watched["to_ns"] and off - on > sure
    ]
    assert len(spells) > 10
    for on, off in spells:
        seen = [span for span in watched["spans_ns"] if span[0] <= on and off <= span[2]]
        assert len(seen) == 1, "from the last sign of life, before the theft, to a waking after it"
    assert run.isolated is not None
    assert run.isolated.taken > 0.0
    assert run.isolated.sources == ("sentinel", "spin gaps")


@pytest.mark.nightly  # a thief at real-time priority would be in the way of tests beside it
@pytest.mark.memcached
def test_a_spinning_client_sees_every_interruption_of_its_processor_to_its_ends(tmp_path):
    run, interference = stolen_from("client", tmp_path)
    (one,) = run.clients
    zero, (thread,) = one.result["measured_from_ns"], one.result["threads"]
    spans = [(on + zero, off + zero) for on, off in thread["away"]["spans_ns"]]
    inside = [
        (on, off)
        for on, off in interference.spans
        if on > zero and off < zero + 2_000 * MS and off - on > MS // 2
    ]
    assert len(inside) > 10
    for on, off in inside:
        seen = [span for span in spans if span[0] <= on and off <= span[1]]
        assert len(seen) == 1, "no reading of the clock lies within a theft"
