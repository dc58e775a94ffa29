"""The commands of the tutorial, one after the other, on the service with the planted tail."""

import json
import re
import shlex
from pathlib import Path

import pytest
from measuring import hindmost

ROOT = Path(__file__).parents[2]


def commands():
    text = (ROOT / "docs/guides/tutorial.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\$ (?:sudo )?hindmost (.*)$", text, re.MULTILINE)
    return [shlex.split(line) for line in lines if not line.startswith("host doctor")]


@pytest.mark.nightly
def test_the_tutorial_ends_with_a_confirmed_gain(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for words in commands():
        run = hindmost(*words)
        assert run.code in (0, 4), (words, run.err)
    change = json.loads((tmp_path / "change/trial.json").read_text())
    assert (change["verdict"], change["levels"][change["best"]]["level"]) == ("set", "40")
    explanation = json.loads((tmp_path / "why/explanation.json").read_text())
    assert explanation["verdict"] in ("gain", "undecided")
    assert not any(one["outcome"] == "confirmed" for one in explanation["trials"] if "40" not in one["label"])
    assert (tmp_path / "before-csv/latency.csv").exists()
