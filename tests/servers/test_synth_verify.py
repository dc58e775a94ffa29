"""``hindmost compare --clone`` against real servers: whole whatever the host does, resumed, refused, killed.

That a slower clone is told from its original, which takes a calm host, is settled by
``test_clone_against_original.py`` beside this folder.
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

from hindmost.store.schema import schemas

SHORT = ("--loads", "30%", "--duration", "0.5s", "--warmup", "0.1s", "--quiet", "--pairs", "2", "--json")
VERDICTS = {"equivalent": 0, "different": 3, "open": 4}


def begin(study, double, target, *more):
    return start("compare", target, "--clone", double, *SHORT, *more, "--out", study)


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    need_two_cpus()
    return write_clone(tmp_path_factory.mktemp("verify"))


@pytest.fixture(scope="module")
def logged(truth):
    """``--logged`` for the studies in which the original was logged, at two rates."""
    words = []
    for rate in (500, 2_000):
        target = f"{synth_target(truth)}&log={truth.parent}/log-{rate}.csv"
        study = truth.parent / f"logged-{rate}"
        asked = (
            "--rate",
            rate,
            "--runs",
            1,
            "--duration",
            "0.5s",
            "--warmup",
            "0.1s",
            "--seed",
            5,
            "--quiet",
        )
        told = finish(start("measure", target, *asked, "--out", study), study)
        assert (study / "result.json").exists(), told.err
        words += ["--logged", study]
    return words


@dataclass(frozen=True)
class Slower:
    """A verification of a clone that is twice as slow as its original: killed by -9, then gone on with."""

    study: Path
    killed: Answer
    left_by_kill: list[str]
    made: dict[Path, int]
    answer: Answer
    left: list[str]


def left_in(process_tracker):
    """Commands of what is still there when nothing should be."""
    with suppress(AssertionError):
        wait_for(lambda: not process_tracker.leftovers(), "nothing is left", 20.0)
    return [*process_tracker.leftovers().values()]


def times(study):
    return {run: run.stat().st_mtime_ns for run in study.glob("0.3/*/runs/0*/run.json")}


@pytest.fixture(scope="module")
def slower(truth, logged):
    study, double, process_tracker = truth.parent / "slower", write_clone(truth.parent, 2.0), ProcessTracker()
    try:
        child = begin(study, double, synth_target(truth), *logged)
        wait_for(lambda: times(study) or child.poll() is not None, "a finished run", 150.0)
        child.kill()
        killed, left_by_kill, made = finish(child, study), left_in(process_tracker), times(study)
        answer = finish(begin(study, double, synth_target(truth), *logged), study)
        return Slower(study, killed, left_by_kill, made, answer, left_in(process_tracker))
    finally:
        process_tracker.close()


def test_one_that_was_killed_goes_on_to_a_whole_document(slower):
    assert slower.killed.code == -signal.SIGKILL
    assert slower.left_by_kill == slower.left == []
    assert slower.made
    now = times(slower.study)
    assert len(now) > len(slower.made)
    assert {run: now[run] for run in slower.made} == slower.made, "finished runs are never made again"
    document = slower.answer.result
    jsonschema.Draft202012Validator(schemas()["verification"]).validate(document)
    assert VERDICTS[document["verdict"]] == slower.answer.code, slower.answer.err
    (point,) = document["points"]
    assert point["rate_per_s"] == pytest.approx(0.3e6 / (2.0 * SERVICE_US), rel=1e-3)
    assert point["pairs"] <= 2 <= point["pairs"] + point["left_out"], "a busy host may have spoiled some"
    assert (slower.study / "verification.html").stat().st_size > 10_000
    if point["pairs"]:
        mean = point["figures"]["mean"]
        assert mean["clone_us"]["value"] > 2.0 * LEAST * SERVICE_US
        assert mean["original_us"]["value"] > LEAST * SERVICE_US


def test_a_whole_one_makes_no_run_again_and_refuses_other_clones_and_logs(truth, logged, slower, tmp_path):
    runs = times(slower.study)
    again = finish(
        begin(slower.study, write_clone(truth.parent, 2.0), synth_target(truth), *logged), slower.study
    )
    assert times(slower.study) == runs
    assert again.result["points"] == slower.answer.result["points"]
    other = finish(begin(slower.study, write_clone(truth.parent, 1.1), synth_target(truth)), slower.study)
    other.assert_error(2, "study-differs")
    nothing = finish(
        begin(tmp_path / "study", truth, synth_target(truth), "--logged", truth.parent), tmp_path
    )
    nothing.assert_error(1, "bad-file")


@pytest.mark.nightly
@pytest.mark.redis
def test_an_original_whose_protocol_no_clone_speaks_is_compared_all_the_same(truth):
    study = truth.parent / "study-redis"
    answer = finish(begin(study, truth, need("redis").name), study, 300.0)
    document = answer.result
    (point,) = document["points"]
    assert (answer.code, document["verdict"]) == (4, "open"), "two pairs decide nothing, none less"
    assert point["pairs"] <= 2 <= point["pairs"] + point["left_out"], "a busy host may have spoiled some"
    if point["pairs"]:
        assert point["figures"]["mean"]["clone_us"]["value"] > LEAST * SERVICE_US
