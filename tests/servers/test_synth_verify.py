"""``hindmost synth verify`` against real servers: whole whatever the host does, resumed, refused, killed.

That a slower clone is told from its original, which takes a calm host, is settled by ``tests/precision``.
"""

from __future__ import annotations

import json
import signal

import jsonschema
import pytest
from clones import FEW, LEAST, SERVICE_US, clone, served
from measuring import finish, need, need_two_processors, start, wait_for

from hindmost.store.schema import schemas

SHORT = (*FEW, "--pairs", "3")
VERDICTS = {"equivalent": 0, "different": 3, "open": 4}


def verify(study, double, target):
    return finish(start("synth", "verify", double, target, *SHORT, "--json", "--out", study), study)


def verified(folder, double, original):
    answer = verify(folder / f"study-{double.stem}", double, served(original))
    assert answer.out, answer.err
    return answer.code, json.loads(answer.out), answer.err


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    need_two_processors()
    return clone(tmp_path_factory.mktemp("verify"))


@pytest.fixture(scope="module")
def logged(truth):
    """``--logged`` for the studies in which the original was logged, at two rates."""
    words = []
    for rate in (500, 2_000):
        target = f"{served(truth)}&log={truth.parent}/log-{rate}.csv"
        study = truth.parent / f"logged-{rate}"
        asked = ("--rate", rate, "--runs", 1, "--duration", "1s", "--warmup", "0.1s", "--seed", 5, "--quiet")
        told = finish(start("measure", target, *asked, "--out", study), study)
        assert (study / "result.json").exists(), told.err
        words += ["--logged", study]
    return words


@pytest.fixture(scope="module")
def slower(truth):
    """A study of a clone that is twice as slow as its original."""
    return verified(truth.parent, clone(truth.parent, 2.0), truth)


def test_a_verification_is_whole_and_its_clone_takes_no_less_than_it_should(truth, slower):
    code, document, said = slower
    jsonschema.Draft202012Validator(schemas()["verification"]).validate(document)
    assert VERDICTS[document["verdict"]] == code, said
    (point,) = document["points"]
    assert point["rate_per_s"] == pytest.approx(0.3e6 / (2.0 * SERVICE_US), rel=1e-3)
    assert point["pairs"] + point["left_out"] >= 3
    assert (truth.parent / "study-clone-2" / "verification.html").stat().st_size > 10_000
    if point["pairs"]:
        mean = point["figures"]["mean"]
        assert mean["clone_us"]["value"] > 2.0 * LEAST * SERVICE_US
        assert mean["original_us"]["value"] > LEAST * SERVICE_US


def test_a_log_without_an_answer_is_refused(truth, tmp_path):
    words = ("--logged", truth.parent, "--out", tmp_path / "study")
    nothing = finish(start("synth", "verify", truth, served(truth), *SHORT, *words), tmp_path)
    assert nothing.code == 1
    assert "has no whole answer" in nothing.err


@pytest.mark.redis
def test_an_original_whose_protocol_no_clone_speaks_is_compared_all_the_same(truth):
    study = truth.parent / "study-redis"
    words = (*FEW, "--pairs", "2", "--json", "--out", study)
    answer = finish(start("synth", "verify", truth, need("redis").name, *words), study, 300.0)
    document = json.loads(answer.out)
    assert "clones do not speak redis" in answer.err
    (point,) = document["points"]
    assert (answer.code, document["verdict"]) == (4, "open"), "two pairs decide nothing, none less"
    assert point["pairs"] + point["left_out"] >= 2
    if point["pairs"]:
        assert point["figures"]["mean"]["clone_us"]["value"] > LEAST * SERVICE_US


def test_it_goes_on_where_it_stopped_and_refuses_other_runs(truth, slower):
    study = truth.parent / "study-clone-2"
    runs = sorted(study.glob("0.3/*/runs/0*/run.json"))
    assert runs
    times = [run.stat().st_mtime_ns for run in runs]
    before = json.loads((study / "verification.json").read_text())
    _, again, _ = verified(truth.parent, clone(truth.parent, 2.0), truth)
    assert [run.stat().st_mtime_ns for run in runs] == times, "finished runs are never made again"
    assert sorted(study.glob("0.3/*/runs/0*/run.json")) == runs
    assert again["points"] == before["points"]
    refused = verify(study, clone(truth.parent, 1.1), served(truth))
    assert refused.code == 2
    assert "another clone" in refused.err


def test_kill_9_leaves_no_process_and_no_lock(truth, logged, household):
    study = truth.parent / "study-killed"
    words = (*SHORT, *logged, "--json", "--out", study)
    child = start("synth", "verify", truth, served(truth), *words)
    wait_for(lambda: [*study.glob("0.3/*/runs/0*/run.json")], "a finished run", 150.0)
    child.kill()
    assert finish(child, study).code == -signal.SIGKILL
    household.assert_empty()
    answer = finish(start("synth", "verify", truth, served(truth), *words), study)
    assert answer.code in (0, 3, 4, 6), answer.err
    document = json.loads(answer.out)
    assert document["schema"] == "hindmost.verification/1"
    household.assert_empty()
