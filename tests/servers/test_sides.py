"""Studies of several sides: targets in turn, and what is left of one that is ended in the middle of a run."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from ending import finished_runs, stop_in_second_run
from measuring import ProcessTracker, Study, finish, hindmost, start, wait_for

from hindmost import Study as Stored

CLONE = """
schema = "hindmost.clone/1"
name = "fixed-{us}"
[[service]]
law = {{ kind = "uniform", low_us = {low}, high_us = {high} }}
"""
OPTIONS = (
    "--quantiles",
    "50",
    "--clients",
    1,
    "--connections",
    2,
    "--remake",
    0,
    "--stamps",
    "off",
    "--sentinel",
    "off",
)
FAST_US, SLOW_US = 2_000, 20_000
"""Milliseconds of service twenty times a second: what a busy host adds is small beside it, as a median."""
SERVER = 'synth?service={"kind":"deterministic","mean_us":%d}'
SETTING = Path("/proc/sys/vm/compaction_proactiveness")
"""What it is set to matters to no test."""
BOTH = [
    pytest.param(signal.SIGINT, id="Ctrl-C", marks=pytest.mark.nightly),
    pytest.param(signal.SIGKILL, id="kill -9"),
]


@pytest.fixture
def few(tmp_path: Path) -> Path:
    file = tmp_path / "few.json"
    file.write_text('{"keys": 10}')
    return file


def test_targets_in_turn_have_their_known_ratio_and_more_rounds_go_on(few: Path, tmp_path: Path) -> None:
    targets = []
    for us in (FAST_US, SLOW_US):
        file = tmp_path / f"{us}.toml"
        file.write_text(CLONE.format(us=us, low=0.95 * us, high=1.05 * us))
        targets.append(f"synth?clone={file}")
    study = tmp_path / "study"
    load = ("--rate", 20, "--duration", "0.8s", "--warmup", "0.1s", *OPTIONS, "--workload", few)
    words = ("--live", *targets, *load, "--quiet", "--json", "--pairs", 2, "--out", study)
    answer = hindmost("compare", *words, study=study)
    assert answer.code in (0, 4, 6), answer.err
    found = answer.result
    (other,) = found["against"]
    assert (found["how"], other["pairs"]) == ("live", 2)
    assert 2.0 < other["latency"]["p50"]["ratio"]["value"] < 20.0, other
    assert other["latency"]["p50"]["word"] != "faster"
    assert (study / "report.html").stat().st_size > 10_000

    times = {file: file.stat().st_mtime_ns for file in study.glob("*/runs/*/run.json")}
    assert len(times) == 4
    limit = "p50>+900%"
    more = hindmost("compare", study, "--pairs", 3, "--fail-if", limit, "--json", "--quiet", study=study)
    assert more.code in (0, 3, 4, 6), more.err
    assert {file: file.stat().st_mtime_ns for file in times} == times
    assert len(list(study.glob("*/runs/*/run.json"))) == 6
    assert [one["text"] for one in more.result["limits"]] == [limit]
    assert Stored.open(study).manifest["comparison"]["fail_if"] == [limit]
    refused = hindmost("compare", study, "--rate", "5k", "--json", study=study)
    refused.assert_error(2, "fixed-option", option="--rate")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.nightly)])
def test_a_live_comparison_that_is_ended_leaves_nothing_and_goes_on(
    number: signal.Signals, few: Path, process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    study, load = tmp_path / "study", ("--rate", 100, "--warmup", "0.2s", "--duration", "1s", "--pairs", 2)
    words = ("compare", "--live", SERVER % 100, SERVER % 300, *load, *OPTIONS, "--workload", few)
    first = stop_in_second_run(words, number, study, process_tracker, f"hindmost compare {study}")
    assert not (study / "comparison.json").exists()
    again = hindmost("compare", study, "--quiet", "--json", study=study)
    assert again.code in (0, 4, 6), again.err
    assert len(finished_runs(study)) == 4
    assert first <= finished_runs(study)
    assert again.result["against"][0]["pairs"] == 2
    assert Study(study).hidden_files() == []
    process_tracker.assert_none_left()


@pytest.mark.nightly
@pytest.mark.parametrize("number", BOTH)
def test_a_search_for_an_interval_that_is_ended_leaves_nothing_and_goes_on(
    number: signal.Signals, few: Path, process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    load = ("--rate", "2k", "--batch", "1ms", "--pairs", 2, "--warmup", "0.1s", "--duration", "0.4s")
    words = ("compare", SERVER % 20, *load, *OPTIONS, "--workload", few)
    first = stop_in_second_run(words, number, study, process_tracker, f"hindmost compare {study}")
    assert not (study / "batching.json").exists()
    again = hindmost("compare", study, "--quiet", "--json", study=study)
    assert again.code in (0, 4), again.err
    assert len(finished_runs(study)) == 6, "two rounds of none, Nagle's and one interval"
    assert first <= finished_runs(study)
    assert again.result["rounds"] + len(again.result["aside"]) == 2, "a busy host may have spoiled one"
    assert Study(study).hidden_files() == []
    process_tracker.assert_none_left()


def now() -> str:
    return SETTING.read_text().strip()


@pytest.mark.skipif(not os.access(SETTING, os.W_OK), reason="settings of this host cannot be changed here")
@pytest.mark.parametrize("number", BOTH)
def test_a_trial_that_is_ended_leaves_the_setting_as_it_was_and_goes_on(
    number: signal.Signals, few: Path, process_tracker: ProcessTracker, tmp_path: Path, exclusive
) -> None:
    exclusive("compaction")
    study, found = tmp_path / "study", now()
    other = str(int(found) + 1)
    load = ("--rate", "2k", "--pairs", 6, "--warmup", "0.1s", "--duration", "0.2s", "--by", "mean", *OPTIONS)
    words = ("compare", SERVER % 20, *load, "--workload", few, "--out", study)
    process = start(*words, "--set", f"compaction={found},{other}")
    try:
        wait_for(lambda: now() == other, "a run with the setting changed")
        os.killpg(process.pid, number)
        answer = finish(process, study)
        process_tracker.assert_none_left()
        if number == signal.SIGKILL:
            assert answer.code == -number
            assert hindmost("host", "knobs", "restore").code == 0
            assert now() == found
            return
        answer.assert_error(130, "interrupted")
        assert f"hint: hindmost compare {study}" in answer.err
        assert now() == found
        again = hindmost("compare", study, "--quiet", "--json", study=study)
    finally:
        SETTING.write_text(found)
    assert again.code in (0, 4), again.err
    assert [one["level"] for one in json.loads(again.out)["levels"]] == [found, other]
    assert Study(study).hidden_files() == []
    assert now() == found
    process_tracker.assert_none_left()
