"""A neighbour's cgroup is held to other processors, or to a part of one, and gets back what it had."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from undoing import undo

from hindmost.codes import CODES
from hindmost.interventions import groups as held_groups
from hindmost.interventions.changes import SuspectGone
from hindmost.interventions.freezer import members
from hindmost.interventions.groups import ChangeRefused, GroupFile, confine_group, idle_group, limit_group
from hindmost.interventions.idle import IdlePriority
from hindmost.interventions.session import start_session
from hindmost.studies.diagnosis.neighbours import Neighbour
from hindmost.studies.diagnosis.policy import Policy
from hindmost.studies.diagnosis.suspects import Suspects, find_suspects

V1 = Path("/sys/fs/cgroup")
CPUS = sorted(os.sched_getaffinity(0))
needs_groups = pytest.mark.skipif(
    not all(os.access(V1 / one / "cgroup.procs", os.W_OK) for one in ("cpu", "cpuset")),
    reason="no cpu and cpuset of cgroup v1, or not root",
)
needs_two = pytest.mark.skipif(len(CPUS) < 2, reason="one processor")


BUSY = """
import time
while True:
    end = time.monotonic() + 0.003
    while time.monotonic() < end:
        pass
    time.sleep(0.007)
"""
"""Uses three times what its quota allows, and not a whole processor."""


def ended(folder: Path) -> None:
    """Wait until nobody is in it, and take it away."""
    end = time.monotonic() + 10
    while members(folder / "x") and time.monotonic() < end:
        time.sleep(0.01)
    folder.rmdir()


@pytest.fixture
def grouped():
    """A busy process in a cpu and a cpuset group of its own, and the two folders."""
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    folders = {one: V1 / one / f"test-{os.getpid()}" for one in ("cpu", "cpuset")}
    for folder in folders.values():
        folder.mkdir()
    for file in ("cpuset.cpus", "cpuset.mems"):
        (folders["cpuset"] / file).write_text((V1 / "cpuset" / file).read_text())
    (folders["cpu"] / "cpu.shares").write_text("100000")  # it uses more than its quota on a busy host, too
    for folder in folders.values():
        (folder / "cgroup.procs").write_text(str(process.pid))
    yield process, folders
    process.kill()
    process.wait()
    for folder in folders.values():
        if folder.exists():
            ended(folder)


@needs_groups
@needs_two
def test_a_neighbours_cgroup_runs_elsewhere_and_its_threads_get_their_own_masks_back(grouped, tmp_path):
    process, folders = grouped
    os.sched_setaffinity(process.pid, {CPUS[0]})
    one = confine_group("hog", process.pid, {1}, frozenset(CPUS[1:]))
    assert one is not None
    with start_session(tmp_path / "j") as session, session.journal(one):
        assert str(one.path) in (tmp_path / "j" / "knobs.jsonl").read_text()
        with session.remove(one):
            assert one.is_gone()
            assert os.sched_getaffinity(process.pid) == set(CPUS[1:])
        assert not one.is_gone()
        assert os.sched_getaffinity(process.pid) == {CPUS[0]}
        one.remove()
        undo(one)
        assert (folders["cpuset"] / "cpuset.cpus").read_text().strip() == one.found


@needs_groups
def test_a_neighbours_cgroup_under_a_quota_is_throttled_and_free_again_afterwards(grouped, tmp_path):
    process, folders = grouped
    throttled = folders["cpu"] / "cpu.stat"
    one = limit_group("hog", process.pid, {1})
    assert one is not None
    assert (one.found, one.wanted) == ("-1", "10000")
    with start_session(tmp_path / "j") as session, session.journal(one):
        with session.remove(one):
            assert one.is_gone()
            end = time.monotonic() + 20
            while "nr_throttled 0" in throttled.read_text() and time.monotonic() < end:
                time.sleep(0.02)
            assert "nr_throttled 0" not in throttled.read_text()
        assert one.path.read_text().strip() == "-1"
        one.remove()
        undo(one)
        assert one.path.read_text().strip() == "-1"
    assert (tmp_path / "j" / "knobs.jsonl").read_text() == ""
    process.kill()
    process.wait()
    ended(folders["cpu"])
    with pytest.raises(SuspectGone):
        one.remove()


@needs_groups
def test_a_neighbours_cgroup_goes_last_in_line_and_is_as_before_afterwards(grouped, tmp_path):
    process, folders = grouped
    shares = folders["cpu"] / "cpu.shares"
    shares.write_text("512")
    one = idle_group("hog", process.pid, {1})
    if one is None:
        pytest.skip("this kernel has no cpu.idle")
    with start_session(tmp_path / "j") as session, session.journal(one):
        with session.remove(one):
            assert one.is_gone()
            assert idle_group("hog", process.pid, {1}) is None, "it does so already"
        assert not one.is_gone()
        assert shares.read_text().strip() == "512"
        one.remove()
        undo(one)
        assert (one.path.read_text().strip(), shares.read_text().strip()) == ("0", "512")
    process.kill()
    process.wait()
    ended(folders["cpu"])
    with pytest.raises(SuspectGone):
        one.give_back()


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@contextmanager
def refused(code: str, **values: object) -> Iterator[None]:
    with pytest.raises(ChangeRefused) as caught:
        yield
    note = caught.value.note
    assert code in CODES
    assert note.code == code
    assert {name: note.values[name] for name in values} == values


@needs_groups
def test_a_cgroup_that_cannot_be_held_is_refused_with_the_reason(grouped, monkeypatch):
    process, folders = grouped
    with refused("shared-group", path=str(folders["cpu"])):
        limit_group("hog", process.pid, {process.pid})
    with refused("no-free-cpu"):
        confine_group("hog", process.pid, {1}, frozenset())
    quota = folders["cpu"] / "cpu.cfs_quota_us"
    quota.write_text("5000")
    with refused("already-limited", path=str(quota), value="5000"):
        limit_group("hog", process.pid, {1})
    monkeypatch.setattr(held_groups, "KEEPS_MASKS", (99, 0))
    with refused("masks-lost", least="99.0"):
        confine_group("hog", process.pid, {1}, frozenset({0}))
    monkeypatch.setattr(os, "access", lambda *_: False)
    with refused("needs-root", path=str(quota)):
        limit_group("hog", process.pid, {1})


@needs_groups
def test_who_has_no_cgroup_of_its_own_is_offered_none(sleeper):
    for one in ("cpu", "cpuset"):
        (V1 / one / "cgroup.procs").write_text(str(sleeper.pid))
    assert limit_group("x", sleeper.pid, {1}) is None
    assert confine_group("x", sleeper.pid, {1}, frozenset({0})) is None


def test_version_2_spells_its_quota_and_processors_otherwise(tmp_path, monkeypatch):
    """On files: no hierarchy of version 2 has these controllers where version 1 holds them."""
    group = tmp_path / "batch"
    group.mkdir()
    for file, value in {"cpu.max": "max 50000", "cpuset.cpus": "", "cgroup.procs": "4194999"}.items():
        (group / file).write_text(f"{value}\n")
    monkeypatch.setattr(held_groups, "groups", lambda *_: iter([(group, True)]))
    quota = limit_group("hog", 4194999, {1})
    assert (quota.found, quota.wanted) == ("max 50000", "5000 50000")
    cpus = confine_group("hog", 4194999, {1}, frozenset({1, 2}))
    assert (cpus.found, cpus.wanted) == ("", "1,2")
    for one in (quota, cpus):
        one.remove()
        assert one.is_gone()
        one.give_back()
        assert one.path.read_text() == f"{one.found}\n"
        one.remove()
        undo(one)
        assert one.path.read_text() == f"{one.found}\n"
    cpus.path.write_text("1-2\n")
    assert cpus.is_gone()


@needs_groups
def test_a_neighbour_that_may_not_be_paused_is_tried_by_its_cgroups_quota(grouped, sleeper, monkeypatch):
    process, _ = grouped
    way = type("Way", (), {"name": "neighbour python"})()
    monkeypatch.setattr(
        "hindmost.studies.diagnosis.suspects.find_neighbours",
        lambda *_: [Neighbour(way, "python", [process.pid], client=False)],
    )
    found = find_suspects(sleeper.pid, Policy(may=["limit"]))
    tried = found.tried["neighbour python"]
    assert isinstance(tried, GroupFile)
    assert tried.path.name == "cpu.cfs_quota_us"
    assert found.corrections["neighbour python"] == [tried]
    both: Suspects = find_suspects(sleeper.pid, Policy(may=["pause", "limit", "confine"]))
    assert both.tried["neighbour python"] is way
    assert [one.path.name for one in both.corrections["neighbour python"] if isinstance(one, GroupFile)][
        -1
    ] == "cpu.cfs_quota_us"
    # The application may run on every processor: there is none for the neighbour alone.
    assert both.left_out["neighbour python, to confine"].code == "no-free-cpu"
    none = find_suspects(sleeper.pid, Policy(may=["quota"]))
    assert none.left_out["neighbour python"].code == "policy-forbids"


@needs_groups
def test_a_group_of_its_own_yields_as_a_whole_and_its_threads_are_left_alone(grouped, sleeper, monkeypatch):
    """Their priorities count within the group alone."""
    process, folders = grouped
    if not (folders["cpu"] / "cpu.idle").exists():
        pytest.skip("this kernel has no cpu.idle")
    way = type("Way", (), {"name": "neighbour python"})()
    for app, pid, kind in ((sleeper.pid, process.pid, GroupFile), (process.pid, sleeper.pid, IdlePriority)):
        other = Neighbour(way, "python", [pid], client=False)
        monkeypatch.setattr(
            "hindmost.studies.diagnosis.suspects.find_neighbours", lambda *_, other=other: [other]
        )
        found = find_suspects(app, Policy(may=["pause", "idle"]))
        (only,) = found.corrections["neighbour python"]
        assert isinstance(only, kind)
        assert found.tried["neighbour python"] is way
        alone = find_suspects(app, Policy(may=["idle"]))
        assert isinstance(alone.tried.get("neighbour python"), GroupFile) == (kind is GroupFile)
