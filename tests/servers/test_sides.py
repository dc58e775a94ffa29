"""Studies of several targets in turn, and what remains if one is ended in the middle of a run."""

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
OPTIONS = ("--quantiles", "50", "--clients", 1, "--connections", 2)
OPTIONS += ("--remake", 0, "--stamps", "off", "--sentinel", "off")
FAST_US, SLOW_US = 2_000, 20_000
"""Service times of milliseconds at 20 requests/s: interference on a busy host adds little to their median."""
SERVER = 'synth?service={"kind":"deterministic","mean_us":%d}'
SETTING = Path("/proc/sys/vm/compaction_proactiveness")
"""A setting whose value affects no test."""
BOTH = [
    pytest.param(signal.SIGINT, id="Ctrl-C", marks=pytest.mark.nightly),
    pytest.param(signal.SIGKILL, id="kill -9"),
]


@pytest.fixture
def few(tmp_path: Path) -> Path:
    file = tmp_path / "few.json"
    file.write_text('{"keys": 10}')
    return file


def test_targets_in_turn_have_their_known_ratio_and_more_rounds_can_be_added(
    few: Path, tmp_path: Path
) -> None:
    targets = []
    for us in (FAST_US, SLOW_US):
        file = tmp_path / f"{us}.toml"
        file.write_text(CLONE.format(us=us, low=0.95 * us, high=1.05 * us))
        targets.append(f"synth?clone={file}")
    study = tmp_path / "study"
    load = ("--rate", 20, "--duration", "0.8s", "--warmup", "0.1s", *OPTIONS, "--workload", few)
    options = ("--live", *targets, *load, "--quiet", "--json", "--pairs", 2, "--out", study)
    answer = hindmost("compare", *options, study=study)
    assert answer.code in (0, 4, 6), answer.err
    document = answer.result
    (second,) = document["against"]
    assert (document["how"], second["pairs"]) == ("live", 2)
    assert 2.0 < second["latency"]["p50"]["ratio"]["value"] < 20.0, second
    assert second["latency"]["p50"]["word"] != "faster"
    assert (study / "report.html").stat().st_size > 10_000

    times = {file: file.stat().st_mtime_ns for file in study.glob("*/runs/*/run.json")}
    assert len(times) == 4
    limit = "p50>+900%"
    extended = hindmost("compare", study, "--pairs", 3, "--fail-if", limit, "--json", "--quiet", study=study)
    assert extended.code in (0, 3, 4, 6), extended.err
    assert {file: file.stat().st_mtime_ns for file in times} == times
    assert len(list(study.glob("*/runs/*/run.json"))) == 6
    assert [entry["text"] for entry in extended.result["limits"]] == [limit]
    assert Stored.open(study).manifest["comparison"]["fail_if"] == [limit]
    conflict = hindmost("compare", study, "--rate", "5k", "--json", study=study)
    conflict.assert_error(2, "fixed-option", option="--rate")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.nightly)])
def test_a_live_comparison_that_is_ended_leaves_nothing_and_can_be_resumed(
    number: signal.Signals, few: Path, process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    study, load = tmp_path / "study", ("--rate", 100, "--warmup", "0.2s", "--duration", "1s", "--pairs", 2)
    command = ("compare", "--live", SERVER % 100, SERVER % 300, *load, *OPTIONS, "--workload", few)
    first = stop_in_second_run(command, number, study, process_tracker, f"hindmost compare {study}")
    assert not (study / "comparison.json").exists()
    resumed = hindmost("compare", study, "--quiet", "--json", study=study)
    assert resumed.code in (0, 4, 6), resumed.err
    assert len(finished_runs(study)) == 4
    assert first <= finished_runs(study)
    assert resumed.result["against"][0]["pairs"] == 2
    assert Study(study).hidden_files() == []
    process_tracker.assert_none_left()


@pytest.mark.nightly
@pytest.mark.parametrize("number", BOTH)
def test_a_batching_search_that_is_ended_leaves_nothing_and_can_be_resumed(
    number: signal.Signals, few: Path, process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    load = ("--rate", "2k", "--batch", "1ms", "--pairs", 2, "--warmup", "0.1s", "--duration", "0.4s")
    command = ("compare", SERVER % 20, *load, *OPTIONS, "--workload", few)
    first = stop_in_second_run(command, number, study, process_tracker, f"hindmost compare {study}")
    assert not (study / "batching.json").exists()
    resumed = hindmost("compare", study, "--quiet", "--json", study=study)
    assert resumed.code in (0, 4), resumed.err
    assert len(finished_runs(study)) == 6, "two rounds of no batching, Nagle's algorithm, and one interval"
    assert first <= finished_runs(study)
    assert resumed.result["rounds"] + len(resumed.result["aside"]) == 2, "a busy host may have disturbed one"
    assert Study(study).hidden_files() == []
    process_tracker.assert_none_left()


def read_setting() -> str:
    return SETTING.read_text().strip()


@pytest.mark.skipif(not os.access(SETTING, os.W_OK), reason="settings of this host cannot be changed here")
@pytest.mark.parametrize("number", BOTH)
def test_a_trial_that_is_ended_restores_the_setting_and_can_be_resumed(
    number: signal.Signals, few: Path, process_tracker: ProcessTracker, tmp_path: Path, exclusive
) -> None:
    exclusive("compaction")
    study, original = tmp_path / "study", read_setting()
    changed = str(int(original) + 1)
    load = ("--rate", "2k", "--pairs", 6, "--warmup", "0.1s", "--duration", "0.2s", "--by", "mean", *OPTIONS)
    command = ("compare", SERVER % 20, *load, "--workload", few, "--out", study)
    process = start(*command, "--set", f"compaction={original},{changed}")
    try:
        wait_for(lambda: read_setting() == changed, "a run with the setting changed")
        os.killpg(process.pid, number)
        answer = finish(process, study)
        process_tracker.assert_none_left()
        if number == signal.SIGKILL:
            assert answer.code == -number
            hindmost("host", "knobs", "restore")  # its exit code is also about studies of other tests
            assert read_setting() == original
            return
        answer.assert_error(130, "interrupted")
        assert f"hint: hindmost compare {study}" in answer.err
        assert read_setting() == original
        resumed = hindmost("compare", study, "--quiet", "--json", study=study)
    finally:
        SETTING.write_text(original)
    assert resumed.code in (0, 4), resumed.err
    assert [level["level"] for level in json.loads(resumed.out)["levels"]] == [original, changed]
    assert Study(study).hidden_files() == []
    assert read_setting() == original
    process_tracker.assert_none_left()
