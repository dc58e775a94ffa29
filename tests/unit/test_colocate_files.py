"""Files that ``hindmost colocate`` is asked to write: refused before it measures, told where the disk is full."""

import json
from pathlib import Path
from typing import Any

import pytest
from messages import assert_refused, raises

from hindmost.cli import main
from hindmost.cli.outcome import refuse_files
from hindmost.errors import UsageError
from hindmost.report.colocation import profile as rendered
from hindmost.report.colocation import stressors as stressors_rendered
from hindmost.studies import colocation
from hindmost.studies.colocation import profile as profiles

PROFILE = ["colocate", "profile", "sleep 60", "--out"]
STRESSORS = ["colocate", "stressors"]
SUPERVISE = ["colocate", "supervise", "4711", "sleep 60", "--promise", "p90<1ms", "--out"]


@pytest.mark.parametrize(
    "words",
    [PROFILE, [*STRESSORS, "--out"], [*STRESSORS, "--picture"], SUPERVISE],
    ids=lambda words: words[1] + words[-1],
)
def test_a_file_without_a_folder_is_refused_before_anything_is_measured(words, tmp_path, monkeypatch, capsys):
    def measured(*_: object, **__: object) -> None:
        raise AssertionError("measured all the same")

    monkeypatch.setattr(profiles, "profile", measured)
    monkeypatch.setattr(colocation, "certify", measured)
    flag, path = words[-1], f"{tmp_path}/nowhere/card.json"
    assert_refused([*words, path], capsys, 2, "no-such-file", option=flag, path=f"{tmp_path}/nowhere")
    assert_refused([*words, str(tmp_path)], capsys, 2, "unwritable-file", option=flag, path=str(tmp_path))


def test_what_may_not_be_written_is_refused(monkeypatch, tmp_path):
    # root may write everywhere but on a read-only file system: what the kernel answers is given here
    monkeypatch.setattr("os.access", lambda path, _: Path(path) != tmp_path)
    with raises(UsageError, "unwritable-file", option="--out", path=str(tmp_path / "card.json")):
        refuse_files({"--out": tmp_path / "card.json", "--picture": None})


@pytest.mark.parametrize("verb", ["profile", "stressors"])
def test_a_full_disk_is_told_after_the_answer_and_the_other_file_is_written(
    verb, monkeypatch, capsys, tmp_path
):
    document: dict[str, Any] = {"made": "with effort"}
    monkeypatch.setattr(profiles, "profile", lambda *_, **__: document)
    monkeypatch.setattr(colocation, "certify", lambda *_, **__: document)
    monkeypatch.setattr(rendered, "render_profile", lambda _: "")
    monkeypatch.setattr(stressors_rendered, "picture", lambda _: "<svg/>")
    words = PROFILE if verb == "profile" else [*STRESSORS, "--picture", f"{tmp_path}/core.svg", "--out"]
    assert main([*words, "/dev/full", "--json"]) == 1
    answer, error = map(json.loads, capsys.readouterr().out.splitlines())
    assert answer == document
    assert (error["code"], error["fields"]["paths"]) == ("unwritable-file", ["/dev/full"])
    assert verb == "profile" or (tmp_path / "core.svg").read_text(encoding="utf-8") == "<svg/>"
