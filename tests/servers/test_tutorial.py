"""The commands of the tutorial run in order, on the service with the planted tail."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from measuring import hindmost

ROOT = Path(__file__).parents[2]


def read_commands():
    text = (ROOT / "docs/guides/tutorial.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\$ (?:sudo )?hindmost (.*)$", text, re.MULTILINE)
    return [shlex.split(line) for line in lines if not line.startswith("host doctor")]


@pytest.mark.nightly
def test_the_tutorial_ends_with_a_confirmed_gain(tmp_path, monkeypatch):
    for file in (ROOT / "examples/tutorial").iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in read_commands():
        answer = hindmost(*command)
        assert answer.code in (0, 4), (command, answer.err)
    change = json.loads((tmp_path / "change/trial.json").read_text())
    assert (change["verdict"], change["levels"][change["best"]]["level"]) == ("set", "40")
    explanation = json.loads((tmp_path / "why/explanation.json").read_text())
    assert explanation["verdict"] in ("gain", "undecided")
    other_trials = [trial for trial in explanation["trials"] if "40" not in trial["label"]]
    assert not any(trial["outcome"] == "confirmed" for trial in other_trials)
    assert (tmp_path / "before-csv/latency.csv").exists()
