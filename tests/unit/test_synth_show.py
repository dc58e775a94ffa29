"""``hindmost clone show``: the document on stdout and derived figures on stderr."""

import json
import tomllib

import pytest

from hindmost.cli import main
from hindmost.commands.clone.document import APPLICATIONS, load_clone


@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_output_is_a_valid_document(name, capsys, tmp_path):
    assert main(["clone", "show", name]) == 0
    output = capsys.readouterr()
    mine = tmp_path / "mine.toml"
    mine.write_text(output.out)
    assert load_clone(mine) == load_clone(name)
    assert tomllib.loads(output.out)["name"] == name
    assert f"{load_clone(name).capacity_per_s:,.6g}" in output.err


def test_json_output_has_defaults_and_derived_figures(capsys):
    assert main(["clone", "show", "silo", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["document"]["queue"] == "shared"
    assert document["capacity_per_s"] == pytest.approx(1e6 / document["mean_busy_us"])


def test_pauses_and_unlimited_capacity_are_reported(capsys, tmp_path):
    document = {
        "schema": "hindmost.clone/1",
        "name": "nothing",
        "service": [{"law": {"kind": "deterministic", "us": 0}}],
        "disturbances": [
            {
                "name": "gc",
                "scope": "server",
                "length": {"kind": "deterministic", "us": 50_000},
                "when": {"kind": "periodic", "every_us": 1e7},
            },
        ],
    }
    file = tmp_path / "nothing.json"
    file.write_text(json.dumps(document))
    assert main(["clone", "show", str(file)]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out) == document
    assert "0.500%" in output.err
    assert load_clone(file).stopped_share == pytest.approx(0.005)
    assert load_clone(file).capacity_per_s is None
