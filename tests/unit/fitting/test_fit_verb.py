"""The fit command, from the log to the document, the page and JSON."""

import json
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest
from messages import assert_refused

from hindmost.cli import main
from hindmost.commands.clone.document import load_clone

from .planted import back_to_back, times_of


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    us = times_of("silo", 6_000)
    kinds = np.where(np.arange(us.size) % 4 == 0, "<set>", "get & run").tolist()
    return back_to_back(tmp_path_factory.mktemp("log") / "server.csv", us, kind=kinds)


@pytest.fixture(scope="module")
def fit_output(log):
    """Return the document, the page, and the command's output."""
    out, page, printed = log.with_name("clone.toml"), log.with_name("fit.html"), StringIO()
    command = ["clone", "fit", str(log), "--out", str(out), "--page", str(page), "--name", "mine"]
    with redirect_stdout(printed):
        assert main(command) == 0
    return out, page, printed.getvalue()


def test_the_document_can_be_loaded_as_a_clone(fit_output):
    out, page, printed = fit_output
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


def clone_summary(err: str) -> str:
    """Return the part of the output that describes the clone, without progress lines."""
    return err[err.index("mine: ") :].strip()


def test_without_out_the_same_document_goes_to_standard_output(log, fit_output, capsys):
    assert main(["clone", "fit", str(log), "--name", "mine"]) == 0
    output = capsys.readouterr()
    assert output.out == fit_output[0].read_text()
    assert clone_summary(output.err) == clone_summary(fit_output[2])


def test_json_has_everything_that_the_page_shows(log, fit_output, capsys):
    assert main(["clone", "fit", str(log), "--name", "mine", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["clone"] == load_clone(fit_output[0]).document
    assert document["schema"] == "hindmost.fit/1"
    assert {candidate["name"] for candidate in document["law"]["candidates"]} >= {
        "exponential",
        "gamma",
        "lognormal",
        "as measured",
    }
    intervals = document["clone"]["origin"]["intervals"]
    assert all(low <= high for low, high in intervals.values())
    assert {note["code"] for note in document["unknown"]} >= {"unknown-sharing", "unknown-load-dependence"}
    assert [note["text"] for note in document["unknown"]] == document["clone"]["origin"]["unknown"]


def test_a_refusal_names_the_file_and_exits_with_2(tmp_path, capsys):
    absent, nowhere = tmp_path / "absent.csv", tmp_path / "no"
    assert_refused(["clone", "fit", str(absent)], capsys, 2, "no-such-file", path=str(absent))
    command = ["clone", "fit", str(tmp_path), "--out", str(nowhere / "clone.toml")]
    assert_refused(command, capsys, 2, "no-such-file", option="--out", path=str(nowhere))
