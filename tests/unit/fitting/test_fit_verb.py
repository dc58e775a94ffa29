"""The verb, from file to document, page and JSON."""

import json
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest
from messages import assert_refused

from hindmost.cli import main
from hindmost.models import load_clone

from .planted import back_to_back, times_of


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    us = times_of("silo", 6_000)
    kinds = np.where(np.arange(us.size) % 4 == 0, "<set>", "get & run").tolist()
    return back_to_back(tmp_path_factory.mktemp("log") / "server.csv", us, kind=kinds)


@pytest.fixture(scope="module")
def fitted(log):
    """The log's document, page, and what the command printed."""
    out, page, printed = log.with_name("clone.toml"), log.with_name("fit.html"), StringIO()
    words = ["clone", "fit", str(log), "--out", str(out), "--page", str(page), "--name", "mine"]
    with redirect_stdout(printed):
        assert main(words) == 0
    return out, page, printed.getvalue()


def test_the_document_is_one_that_can_be_loaded(fitted):
    out, page, printed = fitted
    clone = load_clone(out)
    assert clone.name == "mine"
    assert [kind["name"] for kind in clone.document["kinds"]] == ["<set>", "get & run"]
    assert sum(kind["share"] for kind in clone.document["kinds"]) == pytest.approx(1.0)
    assert clone.document["origin"]["samples"] == 6_000
    assert "mine" in printed
    text = page.read_text()
    assert text.count('<svg viewBox="0 0 860') == 9
    assert "&lt;set&gt;" in text
    assert "<set>" not in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")


def account(err: str) -> str:
    """What a fit says of the clone, without the lines of steps that took long."""
    return err[err.index("mine: ") :].strip()


def test_without_out_the_same_document_goes_to_standard_output(log, fitted, capsys):
    assert main(["clone", "fit", str(log), "--name", "mine"]) == 0
    said = capsys.readouterr()
    assert said.out == fitted[0].read_text()
    assert account(said.err) == account(fitted[2])


def test_json_has_everything_that_the_page_shows(log, fitted, capsys):
    assert main(["clone", "fit", str(log), "--name", "mine", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["clone"] == load_clone(fitted[0]).document
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
    assert_refused(["clone", "fit", str(absent)], capsys, 2, "no-such-file", path=str(absent))
    words = ["clone", "fit", str(tmp_path), "--out", str(nowhere / "clone.toml")]
    assert_refused(words, capsys, 2, "no-such-file", option="--out", path=str(nowhere))
