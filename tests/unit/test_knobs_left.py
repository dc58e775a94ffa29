"""What a killed study left is told by the doctor and beside a measurement's verdict, with who puts it back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from evidence import evidence

from hindmost import _engine
from hindmost.knobs import left_finding
from hindmost.knobs.left import left
from hindmost.run.verdict import judge

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


def finding(root: Path) -> dict:
    return dict(left_finding(root / "journal", str(root)))


def test_nothing_changed_is_fine(root: Path) -> None:
    assert (finding(root)["mark"], finding(root)["value"]) == ("fine", "none")


def test_what_a_killed_study_left_is_named_with_what_was_found_and_the_command(root: Path) -> None:
    set_by_a_killed_study(root)
    told = finding(root)
    assert (told["mark"], told["value"]) == ("mind", "swappiness 7 (found: 60)")
    assert "killed" in told["why"]
    assert told["hint"] == f"hindmost knobs restore --journal {root / 'journal'}"
    assert (root / "proc/sys/vm/swappiness").read_text() == "7", "telling puts nothing back"


def test_what_was_set_by_hand_or_is_a_running_studys_is_told_as_that(root: Path) -> None:
    journal, tree = str(root / "journal"), str(root)
    _engine.set_knob("swappiness", "7", journal, tree)
    assert (finding(root)["mark"], finding(root)["value"]) == ("fine", "swappiness 7 (found: 60), by hand")
    _engine.set_knob("turbo", "off", journal, tree, os.getpid())
    told = finding(root)
    assert (told["mark"], told["value"]) == ("mind", "turbo off (found: on)")
    assert f"process {os.getpid()}" in told["why"]


def test_a_line_of_another_version_is_told(root: Path) -> None:
    set_by_a_killed_study(root)
    file = root / "journal" / "knobs.jsonl"
    file.write_text('{"schema": "hindmost.journal/9"}\n' + file.read_text())
    assert [one["name"] for one in left(root / "journal", str(root))] == [
        "swappiness",
        "line 1 of the journal",
    ]
    assert "hindmost.journal/9" in finding(root)["value"]


def test_a_journal_that_others_can_write_is_told_with_what_mends_it(root: Path) -> None:
    set_by_a_killed_study(root)
    (root / "journal").chmod(0o777)
    told = finding(root)
    assert told["mark"] == "mind"
    assert "others can write" in told["value"]
    assert f"chmod go-w {root / 'journal'}" in told["hint"]


def test_a_measurement_says_it_beside_its_verdict(root: Path) -> None:
    set_by_a_killed_study(root)
    (reason,) = [one for one in judge(evidence(findings=[finding(root)])) if one.code == "knobs_left"]
    assert reason.level == "mind"
    assert "swappiness 7 (found: 60)" in reason.text
    assert "hindmost knobs restore" in reason.hint
    assert not [one for one in judge(evidence(findings=[])) if one.code == "knobs_left"]


def test_doctor_and_studies_ask(monkeypatch: pytest.MonkeyPatch, root: Path, capsys) -> None:
    from hindmost.cli import main
    from hindmost.knobs import left as room
    from hindmost.studies import begin

    set_by_a_killed_study(root)
    told = finding(root)
    monkeypatch.setattr(room, "FOLDER", root / "journal")
    monkeypatch.setattr(room.left, "__defaults__", (root / "journal", str(root)))
    monkeypatch.setattr(room.finding, "__defaults__", (root / "journal", str(root)))
    main(["doctor", "--json", "--spin", "10ms"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [one["value"] for one in found if one["id"] == "knobs_left"] == [told["value"]]
    assert [one for one in begin._diagnosis(looks=1)["findings"] if one["id"] == "knobs_left"]
