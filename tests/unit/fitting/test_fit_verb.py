"""The verb, from file to document, page and JSON."""

import json
import tomllib

import numpy as np
import pytest
from messages import assert_refused

from hindmost.cli import main
from hindmost.models import load_clone

from .planted import back_to_back, times_of


@pytest.fixture
def log(tmp_path):
    us = times_of("silo", 20_000)
    kinds = np.where(np.arange(us.size) % 4 == 0, "<set>", "get & run").tolist()
    return back_to_back(tmp_path / "server.csv", us, kind=kinds)


def test_the_document_is_one_that_can_be_loaded(log, tmp_path, capsys):
    out, page = tmp_path / "clone.toml", tmp_path / "fit.html"
    assert main(["synth", "fit", str(log), "--out", str(out), "--page", str(page), "--name", "mine"]) == 0
    clone = load_clone(out)
    assert clone.name == "mine"
    assert [kind["name"] for kind in clone.document["kinds"]] == ["<set>", "get & run"]
    assert sum(kind["share"] for kind in clone.document["kinds"]) == pytest.approx(1.0)
    assert clone.document["origin"]["samples"] == 20_000
    said = capsys.readouterr()
    assert "mine" in said.out
    assert str(out) in said.err
    text = page.read_text()
    assert text.count('<svg viewBox="0 0 860') == 9
    assert "&lt;set&gt;" in text
    assert "<set>" not in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_without_out_the_document_goes_to_standard_output(log, capsys):
    assert main(["synth", "fit", str(log)]) == 0
    said = capsys.readouterr()
    assert tomllib.loads(said.out)["schema"] == "hindmost.clone/1"
    assert "20\N{NARROW NO-BREAK SPACE}000" in said.err


def test_json_has_everything_that_the_page_shows(log, capsys):
    assert main(["synth", "fit", str(log), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "hindmost.fit/1"
    assert {one["name"] for one in found["law"]["candidates"]} >= {
        "exponential",
        "gamma",
        "lognormal",
        "as measured",
    }
    intervals = found["clone"]["origin"]["intervals"]
    assert all(low <= high for low, high in intervals.values())
    assert {note["code"] for note in found["unknown"]} >= {"unknown-sharing", "unknown-load-dependence"}
    assert [note["text"] for note in found["unknown"]] == found["clone"]["origin"]["unknown"]


def test_a_refusal_names_the_file_and_exits_with_2(tmp_path, capsys):
    absent, nowhere = tmp_path / "absent.csv", tmp_path / "no"
    assert_refused(["synth", "fit", str(absent)], capsys, 2, "no-such-file", path=str(absent))
    words = ["synth", "fit", str(tmp_path), "--out", str(nowhere / "clone.toml")]
    assert_refused(words, capsys, 2, "no-such-file", option="--out", path=str(nowhere))


def test_equal_input_gives_equal_documents(log, tmp_path):
    for name in ("a.toml", "b.toml"):
        assert main(["synth", "fit", str(log), "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.toml").read_bytes() == (tmp_path / "b.toml").read_bytes()
