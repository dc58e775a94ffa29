"""Doses of a twin: what a suspect of the host becomes there, over made-up files and real processes."""

import errno
import math
import os
import subprocess
from pathlib import Path

import pytest
from undoing import undo

from hindmost.interventions.changes import File, Pause, Places, SuspectGone
from hindmost.studies.diagnosis.neighbours import Neighbour
from hindmost.studies.diagnosis.replica import quotas
from hindmost.studies.diagnosis.replica.doses import TOGETHER, Scene, Shield, doses_of
from hindmost.studies.diagnosis.replica.loads import Load
from hindmost.studies.diagnosis.suspects import Suspects

NEEDS_US = 20_000
"""Of each 100 ms, by a made-up server: below that it is held back for ever longer."""


@pytest.fixture
def group(tmp_path, monkeypatch):
    """A cgroup whose server is held back as its quota says, at a time of its own."""
    (tmp_path / "cpu.cfs_quota_us").write_text("-1\n")
    (tmp_path / "cpu.stat").write_text("nr_periods 0\nthrottled_time 0\n")

    def sleep(seconds: float) -> None:
        quota = int((tmp_path / "cpu.cfs_quota_us").read_text())
        lacks = 0.0 if quota < 0 else max(0.0, 1.2 - quota / NEEDS_US)
        so_far = int((tmp_path / "cpu.stat").read_text().split()[-1])
        (tmp_path / "cpu.stat").write_text(
            f"nr_periods 9\nthrottled_time {so_far + int(1e9 * seconds * lacks)}\n"
        )

    monkeypatch.setattr(quotas.time, "sleep", sleep)
    return tmp_path


@pytest.mark.parametrize("first", [14_000, 20_000, 27_000], ids=["too little", "about right", "too much"])
def test_a_quota_is_fitted_until_it_holds_the_replica_back_as_the_host_is_held_back(group, first):
    path = group / "cpu.cfs_quota_us"
    dose = quotas.tune_quota(File("quota", "x", path, "-1", str(first)), 100_000, 0.2)
    assert 0.2 / quotas.ALIKE <= 1.2 - int(dose.wanted) / NEEDS_US <= 0.2 * quotas.ALIKE
    assert int(dose.wanted) == first or f"{int(dose.wanted) / 1e5:.3g}" in dose.description
    assert path.read_text().strip() == "-1"


def test_a_quota_that_holds_nobody_back_stays_what_it_is(group):
    dose = File("quota", "x", group / "cpu.cfs_quota_us", "-1", "500")
    assert quotas.tune_quota(dose, 100_000, 0.0) is dose
    assert quotas.throttled_share(group, 1.0) == 0.0


def scene(pids, **more):
    told = {"work": 0.1, "host_work": 0.1, "rate": 500.0, "normal_rate": math.nan, "network": None}
    return Scene(pids, load=Load({"protocol": "memcached", "address": "127.0.0.1:1"}), **{**told, **more})


def other(name, *, client):
    way = Pause(1, name, "0", "client" if client else "neighbour")
    return Neighbour(way, name, [1], client, 0.5)


@pytest.fixture
def replica():
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_places_of_the_host_become_places_of_the_replica_and_are_left_again(replica):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one processor")
    held = {1: frozenset({cpus[1]}), 2: frozenset({cpus[1]}), 3: frozenset({cpus[0]})}
    suspects = Suspects({"threads": Places("threads", "spread", held, frozenset(cpus))})
    found = doses_of(suspects, scene([replica.pid]))
    dose = found.interventions["threads"]
    dose.remove()
    assert os.sched_getaffinity(replica.pid) == {cpus[1]}
    dose.give_back()
    assert os.sched_getaffinity(replica.pid) == set(cpus)
    os.sched_setaffinity(replica.pid, {cpus[1]})
    note = doses_of(suspects, scene([replica.pid])).left_out["threads"]
    assert (note.code, note.values) == ("dose-in-force", {"value": str(cpus[1])})


def neighbours():
    both = {one.change.name: one for one in (other("batch", client=False), other("build", client=False))}
    return both, Suspects({name: one.change for name, one in both.items()}, programs=both)


def test_neighbours_are_given_by_leaving_the_replica_among_them(replica):
    if why := Shield("x", [replica.pid], ["y"]).refusal():
        pytest.skip(f"{why.code}: {why}")
    both, suspects = neighbours()
    found = doses_of(suspects, scene([replica.pid]))
    assert found.shields == {TOGETHER}
    assert os.sched_getscheduler(replica.pid) == os.SCHED_OTHER
    assert sorted(found.members[TOGETHER]) == sorted(both)
    shield = found.interventions[TOGETHER]
    shield.remove()
    assert os.sched_getscheduler(replica.pid) == os.SCHED_RR
    assert shield.is_gone()
    undo(shield)
    assert os.sched_getscheduler(replica.pid) == os.SCHED_OTHER
    replica.kill()
    replica.wait()
    with pytest.raises(SuspectGone):
        Shield("x", [replica.pid], ["y"]).remove()


def test_neighbours_are_left_out_where_the_kernel_refuses_real_time_priority(replica, monkeypatch):
    """As in each control group of version 2 under CONFIG_RT_GROUP_SCHED, and without CAP_SYS_NICE."""
    schedule = os.sched_setscheduler

    def refusing(tid, policy, param):
        if policy == os.SCHED_RR:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        schedule(tid, policy, param)

    monkeypatch.setattr(os, "sched_setscheduler", refusing)
    both, suspects = neighbours()
    found = doses_of(suspects, scene([replica.pid]))
    assert (found.interventions, found.shields) == ({}, set())
    assert {name: note.code for name, note in found.left_out.items()} == dict.fromkeys(
        both, "real-time-refused"
    )
    assert os.sched_getscheduler(replica.pid) == os.SCHED_OTHER


@pytest.mark.parametrize(
    ("normal", "why"), [(math.nan, "normal-load-unknown"), (500.0, "normal-load"), (200.0, None)]
)
def test_load_is_given_only_where_there_is_known_to_be_more_of_it(replica, normal, why):
    client = other("load", client=True)
    name = client.change.name
    found = doses_of(
        Suspects({name: client.change}, programs={name: client}), scene([replica.pid], normal_rate=normal)
    )
    if why is None:
        description = found.interventions[name].description
        assert description.index("500") < description.index("200")
    else:
        assert found.left_out[name].code == why
        assert found.interventions == {}


def test_a_suspect_that_cannot_be_brought_to_a_replica_is_left_out(replica, tmp_path):
    suspects = Suspects({"turbo": File("turbo", "allow it", Path(tmp_path / "boost"), "0", "1")})
    assert doses_of(suspects, scene([replica.pid])).left_out["turbo"].code == "no-dose"
