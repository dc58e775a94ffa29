"""What root undoes after a kill: it runs no name that a user chose, and follows no link of theirs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from undoing import undo

from hindmost.core.interventions.changes import File
from hindmost.core.interventions.freezer import Freeze
from hindmost.core.interventions.session import start_session
from hindmost.core.knobs import recover
from hindmost.core.knobs.kinds.cgroup import hierarchy

MARK = "hindmost-test-mark"
HOSTILE = [
    f"a;touch {MARK};x",
    f"$(touch {MARK})",
    f"`touch {MARK}`",
    "a\nhold\tb\t0",
    "a\tb",
    "'\"\\",
    "-rf",
    "é\u202e",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("/", MARK).unlink(missing_ok=True)
    return tmp_path


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", ["cpu.max", "freezer.state"])
def test_the_name_of_a_control_group_is_never_executed(folder, name, kind):
    group = folder / name
    group.mkdir()
    path = group / kind
    path.write_text("found\n")
    change = Freeze(name, path) if kind == "freezer.state" else File(name, name, path, "found", "wanted")
    with start_session(folder / "journal") as session, session.journal(change):
        change.remove()
        undo(change)
        assert path.read_text().strip() == ("THAWED" if kind == "freezer.state" else "found")
        with session.remove(change):
            pass
    assert not (folder / MARK).exists()
    assert not Path("/", MARK).exists()
    assert (folder / "journal" / "knobs.jsonl").read_text() == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create a control group")
@pytest.mark.parametrize("name", [f"a;touch {MARK};x", f"$(touch {MARK})"])
def test_a_control_group_with_a_hostile_name_is_changed_and_restored(folder, name):
    hierarchy_ = hierarchy("cpu")
    file = "cpu.weight" if hierarchy_.version == 2 else "cpu.shares"
    group = hierarchy_.top / f"{name}{os.getpid()}"
    group.mkdir()
    try:
        original = (group / file).read_text().strip()
        change = File(name, name, group / file, original, "20")
        change.remove()
        undo(change)
        assert (group / file).read_text().strip() == original
    finally:
        group.rmdir()
    assert not (folder / MARK).exists()
    assert not Path("/", MARK).exists()


KILLED = """
import sys, time
from pathlib import Path
from hindmost.core.interventions.changes import File
from hindmost.core.interventions.session import start_session
path = Path(sys.argv[1])
change = File(sys.argv[2], "", path, "found", "wanted")
with start_session(Path(sys.argv[3])) as session, session.journal(change), session.remove(change):
    print("gone", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("name", HOSTILE)
def test_the_watchdog_restores_a_setting_whatever_its_name(tmp_path, name):
    path, journal = tmp_path / "file", tmp_path / "journal"
    path.write_text("found\n")
    command = [sys.executable, "-P", "-c", KILLED, str(path), name, str(journal)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == b"gone\n"
        assert path.read_text() == "wanted\n"
        victim.kill()
    end = time.monotonic() + 20
    while (journal / "knobs.jsonl").read_text() and time.monotonic() < end:
        time.sleep(0.01)
    assert path.read_text() == "found\n"


def test_undo_does_not_write_through_a_link(tmp_path):
    group, secret = tmp_path / "group", tmp_path / "secret"
    group.mkdir()
    secret.write_text("root\n")
    (group / "cpu.max").symlink_to(secret)
    change = File("x", "", group / "cpu.max", "found", "wanted")
    with pytest.raises(AssertionError, match="failure"):
        undo(change)
    assert secret.read_text() == "root\n"


def test_a_command_in_an_old_journal_is_not_executed(tmp_path):
    journal, mark = tmp_path / "journal", tmp_path / "mark"
    journal.mkdir(mode=0o700)
    entry = {"schema": "hindmost.journal/1", "knob": "x", "undo": f"touch {mark}", "found": "", "set": ""}
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    owner = {"pid": 1 << 22, "started": 1}
    (journal / "knobs.jsonl").write_text(json.dumps({**entry, "owner": owner, "boot": boot}) + "\n")
    (journal / "knobs.jsonl").chmod(0o600)
    (undone,) = recover(journal)
    assert undone.failure is not None
    assert str(mark) in undone.failure
    assert not mark.exists()
