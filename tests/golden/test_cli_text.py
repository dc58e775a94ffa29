"""Texts of the command line: help, errors and doctor."""

import json
import os
from pathlib import Path

import pytest
from engine_documents import complete
from test_report_golden import check

from hindmost import _engine
from hindmost.cli import main
from hindmost.cli.verbs import all_commands
from hindmost.core.store.engine import Checkup
from hindmost.core.store.estimates import encode

FINDINGS = {
    "facts": {"cpus_online": 2, "kernel": "6.1.0"},
    "findings": [
        {"id": "clock", "title": "Clock", "value": "tsc", "mark": "fine", "why": "", "hint": None},
        {
            "id": "noise",
            "title": "Noise floor",
            "value": "61 %",
            "mark": "unfit",
            "why": "gaps",
            "hint": "top",
        },
    ],
}


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command; DIR in its arguments is a folder with good and bad files."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    (tmp_path / "mix.json").write_text('{\n  "keys": 100,\n  "get_ration": 0.9\n}\n')
    (tmp_path / "share.json").write_text('{\n  "get_ratio": 1.9\n}\n')
    (tmp_path / "server.toml").write_text(
        'name = "mine"\nprotocol = "http"\ncommand = ["./server", "{port}"]\n\n[ready]\nkindd = "tcp"\n'
    )
    study = (Path(__file__).parents[2] / "examples/attribution/memcached.toml").read_text()
    (tmp_path / "factors.toml").write_text(study.replace('interference = "spin"', 'interferense = "spin"'))
    (tmp_path / "plan.json").write_text('{"schema": "hindmost.plan/1", "seed": -1}')

    def run(line: str) -> tuple[int, str, str]:
        code = main([argument.replace("DIR", str(tmp_path)) for argument in line.split()])
        output = capsys.readouterr()
        return code, output.out, output.err

    return run


@pytest.mark.parametrize("verb", ["", "measure", "colocate"])
def test_help_matches_the_golden_file(run, verb):
    code, out, _ = run(f"{verb} --help")
    assert code == 0
    check(f"help_{verb or 'hindmost'}.txt", out)


@pytest.mark.parametrize("command", [*all_commands()], ids=" ".join)
def test_every_help_fits_the_terminal(run, command):
    code, out, _ = run(f"{' '.join(command)} --help")
    body = out.partition("Examples:")[0].splitlines()
    assert code == 0
    assert max(map(len, body)) <= 80


MISTAKES = [
    ("mesure memcached", 2, "unknown-command"),
    ("--bogus", 2, "unknown-option"),
    ("measure", 2, "missing-argument"),
    ("measure --raet 5k memcached", 2, "unknown-option"),
    ("measure memcached --bogus", 2, "unknown-option"),
    ("measure memcached --rate", 2, "missing-argument"),
    ("measure memcached redis", 2, "unexpected-argument"),
    ("measure memcached --rate fast", 2, "bad-value"),
    ("measure memcached --rate 0", 2, "bad-value"),
    ("measure memcached --rate=-5", 2, "bad-value"),
    ("measure memcached --rate nan", 2, "bad-value"),
    ("measure memcached --rate 1e12", 2, "bad-value"),
    ("measure memcached --clients many", 2, "bad-value"),
    ("measure memcached --clients 1.5", 2, "bad-value"),
    ("measure memcached --clients 0", 2, "bad-value"),
    ("measure memcached --connections 0", 2, "bad-value"),
    ("measure memcached --pacing spinn", 2, "bad-value"),
    ("measure memcached --arrivals gauss", 2, "unknown-name"),
    ("measure memcached --runs 30..10", 2, "bad-value"),
    ("measure memcached --precision 0", 2, "bad-value"),
    ("measure memcached --duration 10", 2, "bad-value"),
    ("measure memcached --warmup cold", 2, "bad-value"),
    ("measure memcached --quantiles 101", 2, "bad-value"),
    ("measure memcached --quantiles 0.99", 2, "bad-value"),
    ("measure memcached --quick --runs 5", 2, "conflicting-options"),
    ("measure memcached --find-rate p99<300us --quick", 2, "conflicting-options"),
    ("measure memcached --workload DIR/mix.json", 2, "unknown-key"),
    ("measure memcached --workload DIR/share.json", 2, "bad-value"),
    ("measure DIR/server.toml", 2, "unknown-key"),
    ("attribute DIR/factors.toml --dry-run", 2, "missing-argument"),
    ("measure memcached --seed -1", 2, "bad-value"),
    ("measure memcached --seed 1 --seed 2", 2, "unexpected-argument"),
    ("measure memcached --server-cpus 4095", 2, "bad-value"),
    ("measure memcached --client-cpus a-b", 2, "bad-value"),
    ("measure memcached --require p99", 2, "bad-value"),
    ("measure memcached --require p99.99<1ms", 2, "unmeasured-percentile"),
    ("measure memcached --require p99<1ms --require p99>2ms", 2, "conflicting-options"),
    ("measure memcached --require max<5ms", 2, "unsupported"),
    ("measure memcached --require error<1%", 2, "unknown-name"),
    ("measure memcached --rate 20k --require throughput>49k", 2, "unreachable-limit"),
    ("measure memcached --junit limits.xml", 2, "missing-argument"),
    ("measure memcached --require p99<1ms --junit none/limits.xml", 2, "no-such-file"),
    ("measure memcached --workload DIR/none.json", 2, "no-such-file"),
    ("measure memcachd", 2, "unknown-name"),
    ("measure memcached://127.0.0.1:11211 --server-cpus 0", 2, "unsupported"),
    ("measure memcached --find-rate p99", 2, "bad-value"),
    ("measure memcached --find-rate p99<300us --closed", 2, "conflicting-options"),
    ("measure memcached --find-rate p99<300us --require p99<1ms", 2, "conflicting-options"),
    ("measure memcached --find-rate p99<300us --precision 2%", 2, "conflicting-options"),
    ("measure memcached --find-rate p99<300us --runs 2", 2, "bad-value"),
    ("measure memcached --find-rate p99<300us --rate 2", 2, "bad-value"),
    ("measure --resume DIR --find-rate p99<300us", 2, "fixed-option"),
    ("measure --resume DIR memcached", 2, "conflicting-options"),
    ("measure --resume DIR --rate 5k", 2, "fixed-option"),
    ("measure --resume DIR --server-cpus 0", 2, "fixed-option"),
    ("measure --resume DIR/none", 1, "no-such-study"),
    ("compare memcached --set threads", 2, "bad-value"),
    ("compare memcached --set threads=4,1 --batch auto", 2, "conflicting-options"),
    ("compare memcached --set threads=4,1 --margin 5%", 2, "conflicting-options"),
    ("compare memcached --set threads=4,1 --quick", 2, "conflicting-options"),
    ("compare memcached --set threads=4,1 --fail-if p99>+5%", 2, "conflicting-options"),
    ("compare memcached --batch auto --batching nagle", 2, "conflicting-options"),
    ("compare memcached --clone silo --rate 5k", 2, "conflicting-options"),
    ("compare memcached --by p99", 2, "conflicting-options"),
    ("compare memcached nginx --batch auto", 2, "unexpected-argument"),
    ("compare --set threads=4,1", 2, "missing-argument"),
    ("trial memcached", 2, "renamed-command"),
    ("study report", 2, "missing-argument"),
    ("study report DIR/none", 1, "no-such-study"),
    ("study report DIR DIR", 2, "unexpected-argument"),
    ("load", 2, "missing-argument"),
    ("load DIR/none.json", 2, "no-such-file"),
    ("load DIR/plan.json --out DIR/out", 2, "bad-value"),
    ("load DIR/plan.json --out DIR/plan.json/out", 2, "unwritable-file"),
    ("host doctor --spin 2m", 2, "bad-value"),
    ("host doctor --spin 0s", 2, "bad-value"),
    ("host doctor memcachd", 2, "unknown-name"),
    ("host doctor memcached://127.0.0.1:1", 1, "not-listening"),
    ("clone shwo", 2, "unknown-command"),
    ("host knobs lsit", 2, "unknown-command"),
    ("host knobs set thp", 2, "missing-argument"),
    ("clone show", 2, "missing-argument"),
    ("clone show mastree", 2, "no-such-file"),
    ("clone show DIR/plan.json", 2, "unknown-key"),
]
"""Command lines, each with the exit code and error code that it ends with."""


@pytest.mark.parametrize(
    ("line", "status", "code"), MISTAKES, ids=[mistake[0] or "nothing" for mistake in MISTAKES]
)
def test_a_mistake_is_one_error_with_its_code_and_a_hint(run, line, status, code):
    exit_code, out, err = run(line)
    first, *hints = err.splitlines()
    assert exit_code == status
    assert first.startswith(f"error[{code}]: ")
    assert [text.startswith("hint: ") for text in hints] == [True]
    assert out == ""


def test_json_reports_a_mistake_as_a_document(run):
    exit_code, out, _ = run("measure memcached --rate fast --json")
    document = json.loads(out)
    assert document["schema"] == "hindmost.error/1"
    assert (document["code"], document["exit_code"]) == ("bad-value", exit_code)
    assert document["fields"]["value"] == "fast"


def test_doctor_reports_findings_and_exits_unfit(run, monkeypatch):
    monkeypatch.setattr(_engine, "left_knobs", lambda journal, root: "[]")
    monkeypatch.setattr(_engine, "trace_fault", lambda: None)
    monkeypatch.setattr(_engine, "doctor", lambda root, spin, server: encode(complete(Checkup, FINDINGS)))
    code, out, _ = run("host doctor --json")
    assert code == 5
    assert [finding["mark"] for finding in json.loads(out)["findings"]][:2] == ["fine", "unfit"]
    fit = FINDINGS | {"findings": FINDINGS["findings"][:1]}
    monkeypatch.setattr(_engine, "doctor", lambda root, spin, server: encode(complete(Checkup, fit)))
    assert run("host doctor")[0] == 0
