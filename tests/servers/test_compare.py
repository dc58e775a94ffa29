"""Targets measured in turn: a known ratio is found, it is told as what it is, and goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from measuring import Answer, hindmost

from hindmost.store import Study

CLONE = """
schema = "hindmost.clone/1"
name = "fixed-{us}"
[[service]]
law = {{ kind = "uniform", low_us = {low}, high_us = {high} }}
"""
SHORT = ("--rate", 10, "--duration", "1s", "--warmup", "0.2s", "--quantiles", "50", "--clients", 1)
OPTIONS = ("--connections", 2, "--remake", 0, "--stamps", "off", "--sentinel", "off", "--quiet", "--json")
FAST_US, SLOW_US = 4_000, 40_000
"""Milliseconds of service ten times a second: what a busy host adds is small beside it, as a median."""


def compare(study: Path, *words: object) -> tuple[Answer, dict[str, Any]]:
    answer = hindmost("compare", *words, study=study)
    assert answer.code in (0, 4, 6), answer.err
    return answer, json.loads(answer.out)


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Four rounds of a server and one that takes ten times as long."""
    folder = tmp_path_factory.mktemp("turns")
    (folder / "few.json").write_text('{"keys": 10}')
    targets = []
    for us in (FAST_US, SLOW_US):
        file = folder / f"{us}.toml"
        file.write_text(CLONE.format(us=us, low=0.95 * us, high=1.05 * us))
        targets.append(f"synth?clone={file}")
    study = folder / "study"
    words = (
        "--live",
        *targets,
        *SHORT,
        *OPTIONS,
        "--workload",
        folder / "few.json",
        "--pairs",
        4,
        "--out",
        study,
    )
    return study, compare(study, *words)[1]


@pytest.mark.xdist_group("compare")
def test_a_known_ratio_is_found(turns: tuple[Path, dict[str, Any]]) -> None:
    study, found = turns
    (other,) = found["against"]
    assert (found["how"], other["pairs"]) == ("live", 4)
    assert 2.0 < other["latency"]["p50"]["ratio"]["value"] < 20.0, other
    assert other["latency"]["p50"]["word"] != "faster"
    assert (study / "report.html").stat().st_size > 10_000


@pytest.mark.xdist_group("compare")
def test_more_rounds_go_on_where_it_stopped_and_nothing_else_may_change(
    turns: tuple[Path, dict[str, Any]],
) -> None:
    study, _ = turns
    times = {file: file.stat().st_mtime_ns for file in study.glob("*/runs/*/run.json")}
    assert len(times) == 8
    _, found = compare(study, study, "--pairs", 5, "--fail-if", "p50>+900%", "--json", "--quiet")
    assert {file: file.stat().st_mtime_ns for file in times} == times
    assert len(list(study.glob("*/runs/*/run.json"))) == 10
    assert [one["text"] for one in found["limits"]] == ["p50>+900%"]
    assert Study.open(study).manifest["comparison"]["fail_if"] == ["p50>+900%"]
    refused = hindmost("compare", study, "--rate", "5k", study=study)
    assert refused.code == 2
    assert "cannot change in a study that goes on" in refused.err
