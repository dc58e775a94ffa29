"""Output files of ``hindmost colocate``: bad paths are refused first, and a full disk is reported."""

import json
from pathlib import Path

import pytest
from messages import assert_refused, raises
from profile_cards import card
from test_colocate_stressors import DOCUMENT

from hindmost.cli import main
from hindmost.cli.outcome import refuse_files
from hindmost.commands.colocate import profile as profiles
from hindmost.commands.colocate import stressors
from hindmost.core.store.estimates import to_document
from hindmost.errors import UsageError

PROFILE = ["colocate", "profile", "sleep 60", "--out"]
STRESSORS = ["colocate", "stressors"]
SUPERVISE = ["colocate", "supervise", "4711", "sleep 60", "--promise", "p90<1ms", "--out"]


@pytest.mark.parametrize(
    "command",
    [PROFILE, [*STRESSORS, "--out"], [*STRESSORS, "--picture"], SUPERVISE],
    ids=lambda command: command[1] + command[-1],
)
def test_a_file_without_a_folder_is_refused_before_anything_is_measured(
    command, tmp_path, monkeypatch, capsys
):
    def fail_if_called(*_: object, **__: object) -> None:
        raise AssertionError("measured despite the bad path")

    monkeypatch.setattr(profiles, "profile", fail_if_called)
    monkeypatch.setattr(stressors, "certify", fail_if_called)
    flag, path = command[-1], f"{tmp_path}/nowhere/card.json"
    assert_refused([*command, path], capsys, 2, "no-such-file", option=flag, path=f"{tmp_path}/nowhere")
    assert_refused([*command, str(tmp_path)], capsys, 2, "unwritable-file", option=flag, path=str(tmp_path))


def test_an_unwritable_path_is_refused(monkeypatch, tmp_path):
    # Root can write everywhere except on a read-only file system, so the kernel's answer is faked.
    monkeypatch.setattr("os.access", lambda path, _: Path(path) != tmp_path)
    with raises(UsageError, "unwritable-file", option="--out", path=str(tmp_path / "card.json")):
        refuse_files({"--out": tmp_path / "card.json", "--picture": None})


@pytest.mark.parametrize("verb", ["profile", "stressors"])
def test_a_full_disk_is_reported_after_the_answer_and_the_other_file_is_written(
    verb, monkeypatch, capsys, tmp_path
):
    document = card("sleep") if verb == "profile" else DOCUMENT
    monkeypatch.setattr(profiles, "profile", lambda *_, **__: document)
    monkeypatch.setattr(stressors, "certify", lambda *_, **__: document)
    command = PROFILE if verb == "profile" else [*STRESSORS, "--picture", f"{tmp_path}/core.svg", "--out"]
    assert main([*command, "/dev/full", "--json"]) == 1
    answer, error = map(json.loads, capsys.readouterr().out.splitlines())
    assert answer == to_document(document)
    assert (error["code"], error["fields"]["paths"]) == ("unwritable-file", ["/dev/full"])
    assert verb == "profile" or (tmp_path / "core.svg").read_text(encoding="utf-8").startswith("<svg")
