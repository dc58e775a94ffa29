"""The doctor and a measurement's verdict report settings that a killed study left, and how to restore them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from evidence import evidence

from hindmost import _engine
from hindmost.core.knobs import left_finding
from hindmost.core.knobs.journal import call_engine, recover
from hindmost.core.knobs.leftovers import list_left
from hindmost.core.run.verdict import judge
from hindmost.core.store.engine import Finding
from hindmost.core.store.estimates import to_document
from hindmost.errors import HindmostError

FILES = {
    "proc/sys/kernel/random/boot_id": "6f2f\n",
    "proc/sys/vm/swappiness": "60\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def set_by_a_killed_study(root: Path) -> None:
    script = (
        "import os, sys; from hindmost import _engine;"
        "_engine.set_knob('swappiness', '7', sys.argv[1] + '/journal', sys.argv[1], os.getpid())"
    )
    subprocess.run([sys.executable, "-c", script, root], check=True)


def finding(root: Path) -> Finding:
    return left_finding(root / "journal", str(root))


def rows(root: Path) -> list[tuple[object, ...]]:
    return [
        (setting.name, setting.set, setting.found, setting.by)
        for setting in list_left(root / "journal", str(root))
    ]


def values(reported: Finding) -> set[str]:
    return set(re.findall(r"\w+", reported.value))


def test_without_changes_the_finding_is_fine(root: Path) -> None:
    assert finding(root).mark == "fine"
    assert list_left(root / "journal", str(root)) == []


def test_a_setting_of_a_killed_study_is_reported_with_value_and_command(root: Path) -> None:
    set_by_a_killed_study(root)
    reported = finding(root)
    assert reported.mark == "note"
    assert values(reported) >= {"swappiness", "7", "60"}
    assert rows(root) == [("swappiness", "7", "60", "nobody")]
    assert reported.hint == f"hindmost host knobs restore --journal {root / 'journal'}"
    assert (root / "proc/sys/vm/swappiness").read_text() == "7", "reporting restores nothing"


def test_settings_made_by_hand_or_by_a_running_study_are_marked(root: Path) -> None:
    journal, tree = str(root / "journal"), str(root)
    _engine.set_knob("swappiness", "7", journal, tree)
    assert (finding(root).mark, rows(root)) == ("fine", [("swappiness", "7", "60", "person")])
    _engine.set_knob("turbo", "off", journal, tree, os.getpid())
    reported = finding(root)
    assert reported.mark == "note"
    assert values(reported) >= {"turbo", "off", "on"}
    assert "swappiness" not in values(reported)
    assert str(os.getpid()) in reported.why
    assert rows(root)[1:] == [("turbo", "off", "on", "running")]


def test_a_journal_entry_of_another_version_is_reported(root: Path) -> None:
    set_by_a_killed_study(root)
    file = root / "journal" / "knobs.jsonl"
    file.write_text('{"schema": "hindmost.journal/9"}\n' + file.read_text())
    readable, unread = list_left(root / "journal", str(root))
    assert readable.name == "swappiness"
    assert "hindmost.journal/9" in unread.unread
    assert "hindmost.journal/9" in finding(root).value


def test_a_journal_that_others_can_write_is_reported_with_the_repair(root: Path) -> None:
    set_by_a_killed_study(root)
    (root / "journal").chmod(0o777)
    reported = finding(root)
    assert reported.mark == "note"
    assert f"chmod go-w {root / 'journal'}" in reported.hint


def test_a_setting_of_another_process_is_refused_with_its_pid(root: Path) -> None:
    journal, tree = str(root / "journal"), str(root)
    _engine.set_knob("swappiness", "7", journal, tree, os.getppid())
    with pytest.raises(HindmostError) as held:
        call_engine(lambda: _engine.set_knob("swappiness", "8", journal, tree, os.getpid()))
    assert (held.value.code, held.value.fields["pid"]) == ("setting-in-use", os.getppid())
    assert (root / "proc/sys/vm/swappiness").read_text() == "7"


def test_a_measurement_notes_settings_that_were_left(root: Path) -> None:
    set_by_a_killed_study(root)
    (reason,) = [
        reason
        for reason in judge(evidence(findings=[to_document(finding(root))]))
        if reason.code == "settings-left"
    ]
    assert reason.level == "note"
    assert values(finding(root)) <= set(re.findall(r"\w+", reason.text))
    assert "hindmost host knobs restore" in reason.hint
    assert not [reason for reason in judge(evidence(findings=[])) if reason.code == "settings-left"]


def test_doctor_and_studies_report_settings_that_were_left(
    monkeypatch: pytest.MonkeyPatch, root: Path, capsys
) -> None:
    from hindmost.cli import main
    from hindmost.core.knobs import leftovers as room
    from hindmost.core.study import begin

    set_by_a_killed_study(root)
    reported = finding(root)
    monkeypatch.setattr(room, "FOLDER", root / "journal")
    monkeypatch.setattr(room.list_left, "__defaults__", (root / "journal", str(root)))
    monkeypatch.setattr(room.finding, "__defaults__", (root / "journal", str(root)))
    main(["host", "doctor", "--json", "--spin", "10ms"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [row["value"] for row in findings if row["id"] == "knobs_left"] == [reported.value]
    assert [row for row in begin._diagnosis(looks=1)["findings"] if row["id"] == "knobs_left"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_only_the_user_of_the_journal_restores(root: Path) -> None:
    set_by_a_killed_study(root)
    (root / "journal").chmod(0o700)
    os.seteuid(65534)
    try:
        assert recover(root / "journal", str(root)) == []
    finally:
        os.seteuid(0)
    assert [one.name for one in recover(root / "journal", str(root))] == ["swappiness"]
