"""``hindmost clone serve`` without a client, and refused options."""

import json

import jsonschema
import msgspec
from clones import SMALL
from messages import assert_refused

from hindmost.cli import main
from hindmost.commands.clone.documents.serving import Serving
from hindmost.commands.clone.view.serving import view
from hindmost.core.store.schema import schemas
from hindmost.present.blocks import Table


def test_an_integrated_clone_needs_no_client_and_follows_its_schemas(tmp_path, capsys):
    words = ["clone", "serve", "silo", "--integrated", "--rate", "5k", "--requests", "2000", "--json"]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schemas()["serve"]).validate(document)
    account = document["account"]
    (table,) = (one for one in view(msgspec.convert(document, Serving)).blocks if isinstance(one, Table))
    assert [cells[0] for cells in table.rows][:3] == ["service", "queueing", "both"]
    assert table.rows[2][1] == f"{account['sojourn']['mean_ns'] / 1e3:.2f}"
    assert account["total"]["served"] == 2_000
    assert account["sojourn"]["mean_ns"] >= account["service"]["mean_ns"]
    assert main(["clone", "serve", "silo", "--certificate", "--json"]) == 0
    jsonschema.Draft202012Validator(schemas()["certificate"]).validate(json.loads(capsys.readouterr().out))


def test_time_outside_the_server_is_refused(tmp_path, capsys):
    far = tmp_path / "far.toml"
    far.write_text(SMALL.replace('name = "small"', 'name = "far"\noutside_us = 30.0'))
    assert main(["clone", "serve", str(far), "--integrated", "--requests", "100", "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["outside_us"] == 30.0
    assert output.err.count("note[outside-not-served]") == 1
    assert main(["clone", "serve", "silo", "--integrated", "--requests", "100", "--json"]) == 0
    assert "note[outside-not-served]" not in capsys.readouterr().err


def test_invalid_options_are_refused(tmp_path, capsys):
    bad = tmp_path / "bad.toml"
    bad.write_text(SMALL.replace("0.4", "-0.4"))
    # If a command were not refused, this address would end it.
    nowhere = ["--address", "nowhere"]
    for words, exit_code, code, fields in [
        (["silo", "--integrated", "--rate", "1M"], 1, "above-capacity", {}),
        (["silo", "--rate", "1k", *nowhere], 2, "missing-argument", {"option": "--integrated"}),
        (["silo", "--cpus", "4000"], 1, "pin", {}),
        (["silo", "--cpus", "x", *nowhere], 2, "bad-value", {"option": "--cpus"}),
        ([str(bad), *nowhere], 2, "bad-value", {"key": "service[0].law.sigma_log"}),
        (["silo", *nowhere], 1, "serving-failed", {"address": "nowhere"}),
    ]:
        assert_refused(["clone", "serve", *words], capsys, exit_code, code, **fields)
