"""Doses of a replica: how a suspect of the host is applied to it, on made-up files and real processes."""

import errno
import math
import os
import subprocess
from pathlib import Path

import pytest
from undoing import undo

from hindmost.commands.diagnose.neighbours import Neighbour
from hindmost.commands.diagnose.replica import quotas
from hindmost.commands.diagnose.replica.doses import TOGETHER, Scene, Shield, doses_of
from hindmost.commands.diagnose.replica.loads import Load
from hindmost.commands.diagnose.suspects import Suspects
from hindmost.core.interventions.changes import File, Pause, Places, SuspectGone

NEEDS_US = 20_000
"""CPU time that the made-up server needs in each 100 ms; with less it is throttled longer and longer."""


@pytest.fixture
def group(tmp_path, monkeypatch):
    """A cgroup whose server is throttled according to its quota, with a fake clock."""
    (tmp_path / "cpu.cfs_quota_us").write_text("-1\n")
    (tmp_path / "cpu.stat").write_text("nr_periods 0\nthrottled_time 0\n")

    def sleep(seconds: float) -> None:
        quota = int((tmp_path / "cpu.cfs_quota_us").read_text())
        shortage = 0.0 if quota < 0 else max(0.0, 1.2 - quota / NEEDS_US)
        so_far = int((tmp_path / "cpu.stat").read_text().split()[-1])
        (tmp_path / "cpu.stat").write_text(
            f"nr_periods 9\nthrottled_time {so_far + int(1e9 * seconds * shortage)}\n"
        )

    monkeypatch.setattr(quotas.time, "sleep", sleep)
    return tmp_path


@pytest.mark.parametrize("first", [14_000, 20_000, 27_000], ids=["too little", "about right", "too much"])
def test_a_quota_is_tuned_until_the_replica_is_throttled_like_the_host(group, first):
    path = group / "cpu.cfs_quota_us"
    dose = quotas.tune_quota(File("quota", "x", path, "-1", str(first)), 100_000, 0.2)
    assert 0.2 / quotas.ALIKE <= 1.2 - int(dose.wanted) / NEEDS_US <= 0.2 * quotas.ALIKE
    assert int(dose.wanted) == first or f"{int(dose.wanted) / 1e5:.3g}" in dose.description
    assert path.read_text().strip() == "-1"


def test_a_quota_without_throttling_is_unchanged(group):
    dose = File("quota", "x", group / "cpu.cfs_quota_us", "-1", "500")
    assert quotas.tune_quota(dose, 100_000, 0.0) is dose
    assert quotas.throttled_share(group, 1.0) == 0.0


def make_scene(pids, **more):
    usual = {"work": 0.1, "host_work": 0.1, "rate": 500.0, "normal_rate": math.nan, "network": None}
    return Scene(pids, load=Load({"protocol": "memcached", "address": "127.0.0.1:1"}), **{**usual, **more})


def make_neighbour(name, *, client):
    pause = Pause(1, name, "0", "client" if client else "neighbour")
    return Neighbour(pause, name, [1], client, 0.5)


@pytest.fixture
def replica():
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_placement_on_the_host_is_applied_to_the_replica_and_undone(replica):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("only one CPU")
    places = {1: frozenset({cpus[1]}), 2: frozenset({cpus[1]}), 3: frozenset({cpus[0]})}
    suspects = Suspects({"threads": Places("threads", "spread", places, frozenset(cpus))})
    doses = doses_of(suspects, make_scene([replica.pid]))
    dose = doses.interventions["threads"]
    dose.remove()
    assert os.sched_getaffinity(replica.pid) == {cpus[1]}
    dose.give_back()
    assert os.sched_getaffinity(replica.pid) == set(cpus)
    os.sched_setaffinity(replica.pid, {cpus[1]})
    note = doses_of(suspects, make_scene([replica.pid])).left_out["threads"]
    assert (note.code, note.values) == ("dose-in-force", {"value": str(cpus[1])})


def neighbours():
    programs = {
        neighbour.change.name: neighbour
        for neighbour in (make_neighbour("batch", client=False), make_neighbour("build", client=False))
    }
    return programs, Suspects(
        {name: neighbour.change for name, neighbour in programs.items()}, programs=programs
    )


def test_neighbours_are_applied_by_removing_the_replicas_shield(replica):
    if why := Shield("x", [replica.pid], ["y"]).refusal():
        pytest.skip(f"{why.code}: {why}")
    programs, suspects = neighbours()
    doses = doses_of(suspects, make_scene([replica.pid]))
    assert doses.shields == {TOGETHER}
    assert os.sched_getscheduler(replica.pid) == os.SCHED_OTHER
    assert sorted(doses.members[TOGETHER]) == sorted(programs)
    shield = doses.interventions[TOGETHER]
    shield.remove()
    assert os.sched_getscheduler(replica.pid) == os.SCHED_RR
    assert shield.is_gone()
    undo(shield)
    assert os.sched_getscheduler(replica.pid) == os.SCHED_OTHER
    replica.kill()
    replica.wait()
    with pytest.raises(SuspectGone):
        Shield("x", [replica.pid], ["y"]).remove()


def test_neighbours_are_left_out_if_real_time_priority_is_refused(replica, monkeypatch):
    """This happens in version 2 control groups under CONFIG_RT_GROUP_SCHED, and without CAP_SYS_NICE."""
    schedule = os.sched_setscheduler

    def refuse_real_time(tid, policy, param):
        if policy == os.SCHED_RR:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        schedule(tid, policy, param)

    monkeypatch.setattr(os, "sched_setscheduler", refuse_real_time)
    programs, suspects = neighbours()
    doses = doses_of(suspects, make_scene([replica.pid]))
    assert (doses.interventions, doses.shields) == ({}, set())
    assert {name: note.code for name, note in doses.left_out.items()} == dict.fromkeys(
        programs, "real-time-refused"
    )
    assert os.sched_getscheduler(replica.pid) == os.SCHED_OTHER


@pytest.mark.parametrize(
    ("normal", "why"), [(math.nan, "normal-load-unknown"), (500.0, "normal-load"), (200.0, None)]
)
def test_load_is_applied_only_if_it_is_known_to_have_grown(replica, normal, why):
    client = make_neighbour("load", client=True)
    name = client.change.name
    doses = doses_of(
        Suspects({name: client.change}, programs={name: client}),
        make_scene([replica.pid], normal_rate=normal),
    )
    if why is None:
        description = doses.interventions[name].description
        assert description.index("500") < description.index("200")
    else:
        assert doses.left_out[name].code == why
        assert doses.interventions == {}


def test_a_suspect_without_a_dose_is_left_out(replica, tmp_path):
    suspects = Suspects({"turbo": File("turbo", "allow it", Path(tmp_path / "boost"), "0", "1")})
    assert doses_of(suspects, make_scene([replica.pid])).left_out["turbo"].code == "no-dose"
