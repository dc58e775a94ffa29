"""``hindmost compare --clone`` against real servers: complete on any host, resumed, refused, killed.

``tests/accuracy/test_clone_against_original.py`` tests that a slower clone differs from its original, which needs a quiet
host.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
from clones import LEAST, SERVICE_US, synth_target, write_clone
from measuring import Answer, ProcessTracker, finish, need, need_two_cpus, start, wait_for

from hindmost.core.store.schema import schemas

SHORT = ("--loads", "30%", "--duration", "0.5s", "--warmup", "0.1s", "--quiet", "--pairs", "2", "--json")
VERDICTS = {"equivalent": 0, "different": 3, "open": 4}


def begin(study, clone, target, *options):
    return start("compare", target, "--clone", clone, *SHORT, *options, "--out", study)


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    need_two_cpus()
    return write_clone(tmp_path_factory.mktemp("verify"))


@pytest.fixture(scope="module")
def log_options(truth):
    """The ``--logged`` options of studies that logged the original, at two rates."""
    options = []
    for rate in (500, 2_000):
        target = f"{synth_target(truth)}&log={truth.parent}/log-{rate}.csv"
        study = truth.parent / f"logged-{rate}"
        load = ("--rate", rate, "--runs", 1, "--duration", "0.5s", "--warmup", "0.1s", "--seed", 5, "--quiet")
        answer = finish(start("measure", target, *load, "--out", study), study)
        assert (study / "result.json").exists(), answer.err
        options += ["--logged", study]
    return options


@dataclass(frozen=True)
class Slower:
    """A verification of a clone twice as slow as its original: killed with SIGKILL, then resumed."""

    study: Path
    killed: Answer
    left_after_kill: list[str]
    runs: dict[Path, int]
    answer: Answer
    left: list[str]


def leftover_commands(process_tracker):
    """Command lines of processes that should be gone."""
    with suppress(AssertionError):
        wait_for(lambda: not process_tracker.leftovers(), "nothing is left", 20.0)
    return [*process_tracker.leftovers().values()]


def times(study):
    return {run: run.stat().st_mtime_ns for run in study.glob("0.3/*/runs/0*/run.json")}


@pytest.fixture(scope="module")
def slower(truth, log_options):
    study, clone, process_tracker = truth.parent / "slower", write_clone(truth.parent, 2.0), ProcessTracker()
    try:
        child = begin(study, clone, synth_target(truth), *log_options)
        wait_for(lambda: times(study) or child.poll() is not None, "a finished run", 150.0)
        child.kill()
        killed, left_after_kill = finish(child, study), leftover_commands(process_tracker)
        runs = times(study)
        answer = finish(begin(study, clone, synth_target(truth), *log_options), study)
        return Slower(study, killed, left_after_kill, runs, answer, leftover_commands(process_tracker))
    finally:
        process_tracker.close()


def test_a_killed_verification_is_resumed_to_a_complete_document(slower):
    assert slower.killed.code == -signal.SIGKILL
    assert slower.left_after_kill == slower.left == []
    assert slower.runs
    now = times(slower.study)
    assert len(now) > len(slower.runs)
    assert {run: now[run] for run in slower.runs} == slower.runs, "finished runs are not repeated"
    document = slower.answer.result
    jsonschema.Draft202012Validator(schemas()["verification"]).validate(document)
    assert VERDICTS[document["verdict"]] == slower.answer.code, slower.answer.err
    (point,) = document["points"]
    assert point["rate_per_s"] == pytest.approx(0.3e6 / (2.0 * SERVICE_US), rel=1e-3)
    assert point["pairs"] <= 2 <= point["pairs"] + point["left_out"], "a busy host may have disturbed some"
    assert (slower.study / "verification.html").stat().st_size > 10_000
    if point["pairs"]:
        mean = point["figures"]["mean"]
        assert mean["clone_us"]["value"] > 2.0 * LEAST * SERVICE_US
        assert mean["original_us"]["value"] > LEAST * SERVICE_US


def test_a_complete_verification_repeats_no_run_and_refuses_other_clones_and_logs(
    truth, log_options, slower, tmp_path
):
    runs = times(slower.study)
    answer = finish(
        begin(slower.study, write_clone(truth.parent, 2.0), synth_target(truth), *log_options), slower.study
    )
    assert times(slower.study) == runs
    assert answer.result["points"] == slower.answer.result["points"]
    different = finish(begin(slower.study, write_clone(truth.parent, 1.1), synth_target(truth)), slower.study)
    different.assert_error(2, "study-differs")
    no_log = finish(begin(tmp_path / "study", truth, synth_target(truth), "--logged", truth.parent), tmp_path)
    no_log.assert_error(1, "bad-file")


@pytest.mark.nightly
@pytest.mark.redis
def test_an_original_with_a_protocol_that_clones_do_not_support_is_compared(truth):
    study = truth.parent / "study-redis"
    answer = finish(begin(study, truth, need("redis").name), study, 300.0)
    document = answer.result
    (point,) = document["points"]
    assert (answer.code, document["verdict"]) == (4, "open"), "two pairs or fewer decide nothing"
    assert point["pairs"] <= 2 <= point["pairs"] + point["left_out"], "a busy host may have disturbed some"
    if point["pairs"]:
        assert point["figures"]["mean"]["clone_us"]["value"] > LEAST * SERVICE_US
