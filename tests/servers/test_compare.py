"""Targets measured in turn: a known ratio is found, a server is not told from itself, and it goes on where it stopped."""

from __future__ import annotations

import json
import shutil

import pytest

from hindmost.cli import main
from hindmost.store import Study

CLONE = """
schema = "hindmost.clone/1"
name = "fixed-{us}"
[[service]]
law = {{ kind = "uniform", low_us = {low}, high_us = {high} }}
"""
SHORT = (
    *("--rate", "40", "--duration", "1s", "--warmup", "0.2s", "--quantiles", "50,90", "--clients", "1"),
    *("--connections", "2", "--remake", "0", "--stamps", "off", "--sentinel", "off", "--quiet", "--json"),
)
"""A millisecond of service forty times a second: what a busy host adds is small beside it, as a median."""


@pytest.fixture(scope="module")
def turns(tmp_path_factory):
    """Six rounds of a server, one that takes three times as long, and the first again."""
    folder = tmp_path_factory.mktemp("turns")
    targets = []
    for us in (3_000.0, 9_000.0):
        file = folder / f"{us:.0f}.toml"
        file.write_text(CLONE.format(us=int(us), low=0.95 * us, high=1.05 * us))
        targets.append(f"synth?clone={file}")
    words = [
        "compare",
        "--live",
        *targets,
        targets[0],
        *SHORT,
        "--pairs",
        "6",
        "--out",
        str(folder / "study"),
    ]
    assert main(words) in (0, 4, 6)
    return folder / "study"


def told(capsys, *words):
    code = main([*map(str, words)])
    return code, json.loads(capsys.readouterr().out)


def test_a_known_ratio_is_found_and_a_server_is_not_told_from_itself(turns, capsys):
    _, found = told(capsys, "report", turns, "--json")
    other, again = found["against"]
    ratio = other["latency"]["p50"]["ratio"]
    assert 2.0 < ratio["value"] < 4.0, ratio
    assert again["latency"]["p50"]["word"] not in ("slower", "faster")
    assert 0.7 < again["latency"]["p50"]["ratio"]["value"] < 1.4
    assert [one["label"].endswith(("(1)", "(2)")) for one in found["sides"]] == [True, False, True]
    assert found["how"] == "live"
    assert other["pairs"] == 6
    assert (turns / "report.html").stat().st_size > 10_000


def test_more_rounds_go_on_where_it_stopped_and_nothing_else_may_change(turns, tmp_path, capsys):
    study = tmp_path / "study"
    shutil.copytree(turns, study)
    shutil.rmtree(study / "3/runs/0006")
    times = {file: file.stat().st_mtime_ns for file in study.glob("*/runs/*/run.json")}
    code, found = told(
        capsys, "compare", study, "--pairs", "6", "--fail-if", "p50>+500%", "--json", "--quiet"
    )
    assert code in (0, 4, 6)
    assert {file: file.stat().st_mtime_ns for file in times} == times
    assert (study / "3/runs/0006/run.json").exists()
    assert [one["text"] for one in found["limits"]] == ["p50>+500%"] * 2
    assert Study.open(study).manifest["comparison"]["fail_if"] == ["p50>+500%"]
    assert main(["compare", str(study), "--rate", "5k"]) == 2
    assert "cannot change in a comparison that goes on" in capsys.readouterr().err
