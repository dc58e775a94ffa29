"""Reading processes and cgroups that end at the same time raises nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hindmost.core.interventions.freezer import members
from hindmost.core.targets.procfs import thread_ids
from hindmost.core.tracing.usage import Usage


@pytest.fixture
def ended_pid() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def test_threads_of_ended_processes_are_left_out(ended_pid: int) -> None:
    assert thread_ids([ended_pid]) == []
    assert os.getpid() in thread_ids([ended_pid, os.getpid()])


def test_cpu_time_is_read_although_a_process_of_the_tree_has_ended(
    ended_pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hindmost.core.tracing.usage.process_tree", lambda pid: [pid, ended_pid])
    assert Usage.read(os.getpid()).threads


def test_members_are_read_while_a_group_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.procs").write_text("12\n")
    walk = os.walk

    def remove_first(top: Path):
        for folder in walk(top):
            if folder[0] == str(tmp_path):
                (tmp_path / "a" / "cgroup.procs").unlink()
                (tmp_path / "a").rmdir()
            yield folder

    monkeypatch.setattr(os, "walk", remove_first)
    assert members(tmp_path / "cgroup.freeze") == {12}
