"""Interruptions of a real CPU are recorded when they happen: an interferer that logs them, memcached, and our clocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from interferer import HostInterference, need_real_time
from measuring import need, need_two_cpus

from benches.interruptions import plan_of, run_with_interference
from hindmost.core.run.figures import RunFigures
from hindmost.core.store import Study

SHARE, SPELL_MS = 0.1, 3.0
MS = 1_000_000


def run_with_victim(role: str, folder: Path) -> tuple[RunFigures, HostInterference]:
    """One run of 2 s in which a tenth of the CPU time of the server or client is taken."""
    need("memcached")
    server, client = need_two_cpus()
    need_real_time()
    plan = plan_of("memcached", "5k", 2.0)
    study = Study.create(folder / "study", {"plan": plan.model_dump(mode="json"), "host": {}})
    return run_with_interference(study, 1, plan, {"server": server, "client": client}[role], SHARE, SPELL_MS)


@pytest.mark.nightly  # an interferer at real-time priority would disturb tests that run at the same time
@pytest.mark.memcached
def test_the_sentinel_records_every_interruption_longer_than_its_period(tmp_path):
    run, interference = run_with_victim("server", tmp_path)
    (record,) = run.record.sentinel
    sure = record.period_ns + record.late_ns
    interruptions = [
        (on, off)
        for on, off in interference.spans
        if on > record.from_ns and off < record.to_ns and off - on > sure
    ]
    assert len(interruptions) > 10
    for on, off in interruptions:
        spans = [span for span in record.spans_ns if span[0] <= on and off <= span[2]]
        assert len(spans) == 1, "from the last wake-up before the interruption to one after it"
    assert run.isolated is not None
    assert run.isolated.taken > 0.0
    assert run.isolated.sources == ("sentinel", "spin gaps")


@pytest.mark.nightly  # an interferer at real-time priority would disturb tests that run at the same time
@pytest.mark.memcached
def test_a_spinning_client_records_every_interruption_of_its_cpu_to_both_ends(tmp_path):
    _, interference = run_with_victim("client", tmp_path)
    result = json.loads((tmp_path / "study/runs/0001/client-0.json").read_text())
    zero, (thread,) = result["measured_from_ns"], result["threads"]
    spans = [(on + zero, off + zero) for on, off in thread["away"]["spans_ns"]]
    inside = [
        (on, off)
        for on, off in interference.spans
        if on > zero and off < zero + 2_000 * MS and off - on > MS // 2
    ]
    assert len(inside) > 10
    for on, off in inside:
        matching = [span for span in spans if span[0] <= on and off <= span[1]]
        assert len(matching) == 1, "the clock is never read within an interruption"
