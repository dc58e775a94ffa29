"""A neighbour's cgroup is confined to other CPUs or limited to a share of one, and restored."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from undoing import undo

from hindmost.commands.diagnose.neighbours import Neighbour
from hindmost.commands.diagnose.suspects import Suspects, find_suspects
from hindmost.core.codes import CODES
from hindmost.core.interventions import groups as held_groups
from hindmost.core.interventions.changes import SuspectGone
from hindmost.core.interventions.freezer import members
from hindmost.core.interventions.groups import (
    ChangeRefused,
    GroupFile,
    confine_group,
    idle_group,
    limit_group,
)
from hindmost.core.interventions.idle import IdlePriority
from hindmost.core.interventions.policy import Policy
from hindmost.core.interventions.session import start_session

V1 = Path("/sys/fs/cgroup")
CPUS = sorted(os.sched_getaffinity(0))
needs_groups = pytest.mark.skipif(
    not all(os.access(V1 / controller / "cgroup.procs", os.W_OK) for controller in ("cpu", "cpuset")),
    reason="no writable cpu and cpuset groups of cgroup v1",
)
needs_two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="only one CPU")


BUSY = """
import time
while True:
    end = time.monotonic() + 0.003
    while time.monotonic() < end:
        pass
    time.sleep(0.007)
"""
"""Uses three times its quota, but less than one CPU."""


def remove_group(folder: Path) -> None:
    """Wait until the cgroup is empty, and remove it."""
    end = time.monotonic() + 10
    while members(folder / "x") and time.monotonic() < end:
        time.sleep(0.01)
    folder.rmdir()


@pytest.fixture
def busy_group():
    """A busy process in its own cpu and cpuset groups, and the two folders."""
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    folders = {controller: V1 / controller / f"test-{os.getpid()}" for controller in ("cpu", "cpuset")}
    for folder in folders.values():
        folder.mkdir()
    for file in ("cpuset.cpus", "cpuset.mems"):
        (folders["cpuset"] / file).write_text((V1 / "cpuset" / file).read_text())
    (folders["cpu"] / "cpu.shares").write_text("100000")  # exceeds its quota even on a busy host
    for folder in folders.values():
        (folder / "cgroup.procs").write_text(str(process.pid))
    yield process, folders
    process.kill()
    process.wait()
    for folder in folders.values():
        if folder.exists():
            remove_group(folder)


@needs_groups
@needs_two_cpus
def test_a_neighbours_cgroup_is_confined_and_its_threads_get_their_masks_back(busy_group, tmp_path):
    process, folders = busy_group
    os.sched_setaffinity(process.pid, {CPUS[0]})
    change = confine_group("hog", process.pid, {1}, frozenset(CPUS[1:]))
    assert change is not None
    with start_session(tmp_path / "j") as session, session.journal(change):
        assert str(change.path) in (tmp_path / "j" / "knobs.jsonl").read_text()
        with session.remove(change):
            assert change.is_gone()
            assert os.sched_getaffinity(process.pid) == set(CPUS[1:])
        assert not change.is_gone()
        assert os.sched_getaffinity(process.pid) == {CPUS[0]}
        change.remove()
        undo(change)
        assert (folders["cpuset"] / "cpuset.cpus").read_text().strip() == change.found


@needs_groups
def test_a_neighbours_cgroup_is_throttled_and_released(busy_group, tmp_path):
    process, folders = busy_group
    throttled = folders["cpu"] / "cpu.stat"
    change = limit_group("hog", process.pid, {1})
    assert change is not None
    assert (change.found, change.wanted) == ("-1", "10000")
    with start_session(tmp_path / "j") as session, session.journal(change):
        with session.remove(change):
            assert change.is_gone()
            end = time.monotonic() + 20
            while "nr_throttled 0" in throttled.read_text() and time.monotonic() < end:
                time.sleep(0.02)
            assert "nr_throttled 0" not in throttled.read_text()
        assert change.path.read_text().strip() == "-1"
        change.remove()
        undo(change)
        assert change.path.read_text().strip() == "-1"
    assert (tmp_path / "j" / "knobs.jsonl").read_text() == ""
    process.kill()
    process.wait()
    remove_group(folders["cpu"])
    with pytest.raises(SuspectGone):
        change.remove()


@needs_groups
def test_a_neighbours_cgroup_becomes_idle_and_is_restored(busy_group, tmp_path):
    process, folders = busy_group
    shares = folders["cpu"] / "cpu.shares"
    shares.write_text("512")
    change = idle_group("hog", process.pid, {1})
    if change is None:
        pytest.skip("this kernel has no cpu.idle")
    with start_session(tmp_path / "j") as session, session.journal(change):
        with session.remove(change):
            assert change.is_gone()
            assert idle_group("hog", process.pid, {1}) is None, "the group is idle already"
        assert not change.is_gone()
        assert shares.read_text().strip() == "512"
        change.remove()
        undo(change)
        assert (change.path.read_text().strip(), shares.read_text().strip()) == ("0", "512")
    process.kill()
    process.wait()
    remove_group(folders["cpu"])
    with pytest.raises(SuspectGone):
        change.give_back()


@pytest.fixture
def sleeping_process():
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@contextmanager
def assert_refused(code: str, **values: object) -> Iterator[None]:
    with pytest.raises(ChangeRefused) as caught:
        yield
    note = caught.value.note
    assert code in CODES
    assert note.code == code
    assert {name: note.values[name] for name in values} == values


@needs_groups
def test_a_cgroup_that_cannot_be_changed_is_refused_with_a_reason(busy_group, monkeypatch):
    process, folders = busy_group
    with assert_refused("shared-group", path=str(folders["cpu"])):
        limit_group("hog", process.pid, {process.pid})
    with assert_refused("no-free-cpu"):
        confine_group("hog", process.pid, {1}, frozenset())
    quota = folders["cpu"] / "cpu.cfs_quota_us"
    quota.write_text("5000")
    with assert_refused("already-limited", path=str(quota), value="5000"):
        limit_group("hog", process.pid, {1})
    monkeypatch.setattr(held_groups, "KEEPS_MASKS", (99, 0))
    with assert_refused("masks-lost", least="99.0"):
        confine_group("hog", process.pid, {1}, frozenset({0}))
    monkeypatch.setattr(os, "access", lambda *_: False)
    with assert_refused("needs-root", path=str(quota)):
        limit_group("hog", process.pid, {1})


@needs_groups
def test_a_process_without_its_own_cgroup_gets_no_group_change(sleeping_process):
    for controller in ("cpu", "cpuset"):
        (V1 / controller / "cgroup.procs").write_text(str(sleeping_process.pid))
    assert limit_group("x", sleeping_process.pid, {1}) is None
    assert confine_group("x", sleeping_process.pid, {1}, frozenset({0})) is None


def test_cgroup_version_2_has_its_own_format_of_quota_and_cpus(tmp_path, monkeypatch):
    """Made-up files: a kernel with these controllers in version 1 has none of them in version 2."""
    group = tmp_path / "batch"
    group.mkdir()
    for file, value in {"cpu.max": "max 50000", "cpuset.cpus": "", "cgroup.procs": "4194999"}.items():
        (group / file).write_text(f"{value}\n")
    monkeypatch.setattr(held_groups, "groups", lambda *_: iter([(group, True)]))
    quota = limit_group("hog", 4194999, {1})
    assert (quota.found, quota.wanted) == ("max 50000", "5000 50000")
    cpus = confine_group("hog", 4194999, {1}, frozenset({1, 2}))
    assert (cpus.found, cpus.wanted) == ("", "1,2")
    for change in (quota, cpus):
        change.remove()
        assert change.is_gone()
        change.give_back()
        assert change.path.read_text() == f"{change.found}\n"
        change.remove()
        undo(change)
        assert change.path.read_text() == f"{change.found}\n"
    cpus.path.write_text("1-2\n")
    assert cpus.is_gone()


@needs_groups
def test_a_neighbour_that_may_not_be_paused_is_limited_by_a_quota(busy_group, sleeping_process, monkeypatch):
    process, _ = busy_group
    intervention = type("Intervention", (), {"name": "neighbour python"})()
    monkeypatch.setattr(
        "hindmost.commands.diagnose.suspects.find_neighbours",
        lambda *_: [Neighbour(intervention, "python", [process.pid], client=False)],
    )
    suspects = find_suspects(sleeping_process.pid, Policy(may=["limit"]))
    tried = suspects.tried["neighbour python"]
    assert isinstance(tried, GroupFile)
    assert tried.path.name == "cpu.cfs_quota_us"
    assert suspects.corrections["neighbour python"] == [tried]
    more_choices: Suspects = find_suspects(sleeping_process.pid, Policy(may=["pause", "limit", "confine"]))
    assert more_choices.tried["neighbour python"] is intervention
    assert [
        change.path.name
        for change in more_choices.corrections["neighbour python"]
        if isinstance(change, GroupFile)
    ][-1] == "cpu.cfs_quota_us"
    # The application may use every CPU, so none is free for the neighbour.
    assert more_choices.left_out["neighbour python, to confine"].code == "no-free-cpu"
    refused_suspects = find_suspects(sleeping_process.pid, Policy(may=["quota"]))
    assert refused_suspects.left_out["neighbour python"].code == "policy-forbids"


@needs_groups
def test_an_own_group_becomes_idle_as_a_whole(busy_group, sleeping_process, monkeypatch):
    """Priorities of threads count only within their group."""
    process, folders = busy_group
    if not (folders["cpu"] / "cpu.idle").exists():
        pytest.skip("this kernel has no cpu.idle")
    intervention = type("Intervention", (), {"name": "neighbour python"})()
    for app, pid, kind in (
        (sleeping_process.pid, process.pid, GroupFile),
        (process.pid, sleeping_process.pid, IdlePriority),
    ):
        neighbour = Neighbour(intervention, "python", [pid], client=False)
        monkeypatch.setattr(
            "hindmost.commands.diagnose.suspects.find_neighbours", lambda *_, neighbour=neighbour: [neighbour]
        )
        suspects = find_suspects(app, Policy(may=["pause", "idle"]))
        (only,) = suspects.corrections["neighbour python"]
        assert isinstance(only, kind)
        assert suspects.tried["neighbour python"] is intervention
        idle_only = find_suspects(app, Policy(may=["idle"]))
        assert isinstance(idle_only.tried.get("neighbour python"), GroupFile) == (kind is GroupFile)
