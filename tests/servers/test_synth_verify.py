"""``hindmost synth verify`` against real servers: a slower clone is told from it, it is not told from itself."""

from __future__ import annotations

import json
import signal

import jsonschema
import pytest
from measuring import finish, need, need_two_processors, start, wait_for

from hindmost.store.schema import schemas

FEW = ("--loads", "30%", "--duration", "0.8s", "--warmup", "0.1s", "--quiet")
SHORT = (*FEW, "--pairs", "5")
SERVICE_US = 300.0


def clone(folder, factor=1.0):
    """A document of a server with short tails, so that few requests are enough."""
    path = folder / f"clone-{factor:g}.toml"
    low, high = (spread * factor * SERVICE_US for spread in (0.8, 1.2))
    path.write_text(
        'schema = "hindmost.clone/1"\nname = "short-tails"\n[[service]]\n'
        f'law = {{ kind = "uniform", low_us = {low}, high_us = {high} }}\n'
    )
    return path


def verify(study, double, target):
    return finish(start("synth", "verify", double, target, *SHORT, "--json", "--out", study), study)


def served(document):
    """The original: a server that does as a document says."""
    return f"synth?clone={document}&protocol=http"


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


def test_one_that_is_twice_as_slow_is_shown_to_be_and_the_original_is_not_told_from_itself(truth):
    code, slower, said = verified(truth.parent, clone(truth.parent, 2.0), truth)
    jsonschema.Draft202012Validator(schemas()["verification"]).validate(slower)
    (point,) = slower["points"]
    assert point["rate_per_s"] == pytest.approx(0.3e6 / (2.0 * SERVICE_US), rel=1e-3)
    assert (truth.parent / "study-clone-2" / "verification.html").stat().st_size > 10_000
    if point["left_out"]:
        pytest.skip(f"the host disturbed {point['left_out']} pairs: {point['why']}")
    floor = point["figures"]["mean"]["floor"]
    if not 0.7 < floor["ratio"] < 1.4:
        pytest.skip(f"the host made the original {floor['ratio']:.2f} times as slow as itself")
    assert point["figures"]["mean"]["clone"]["ratio"] > 1.3
    assert (code, slower["verdict"]) == (3, "different"), said
    assert floor["outcome"] != "different"


def test_what_a_request_cost_when_it_was_logged_is_told_beside_the_ratio(truth, logged):
    """The original of this verification takes 1.5 times as long as the one that was logged: a host that slowed down."""
    slowed = served(clone(truth.parent, 1.5))
    folder = truth.parent / "study-logged"
    answer = finish(
        start("synth", "verify", truth, slowed, *SHORT, *logged, "--json", "--out", folder), folder
    )
    assert answer.out, answer.err
    (point,) = json.loads(answer.out)["points"]
    if point["left_out"]:
        pytest.skip(f"the host disturbed {point['left_out']} pairs: {point['why']}")
    assert 1.2 < point["cost"]["ratio"] < 1.8, point["cost"]
    for name in ("mean", "p95"):
        raw, fair = (point["figures"][name][side]["ratio"] for side in ("clone", "as_logged"))
        assert raw < 0.85
        assert 0.8 < fair < 1.25, (raw, fair)
    nothing = finish(
        start("synth", "verify", truth, slowed, *SHORT, "--logged", truth.parent, "--out", folder), folder
    )
    assert nothing.code == 1
    assert "has no whole answer" in nothing.err


@pytest.mark.redis
def test_an_original_whose_protocol_no_clone_speaks_is_compared_all_the_same(truth):
    study = truth.parent / "study-redis"
    words = (*FEW, "--pairs", "2", "--json", "--out", study)
    answer = finish(start("synth", "verify", truth, need("redis").name, *words), study)
    document = json.loads(answer.out)
    assert "clones do not speak redis" in answer.err
    (point,) = document["points"]
    if not point["pairs"]:
        pytest.skip(f"the host disturbed {point['left_out']} pairs: {point['why']}")
    assert (answer.code, document["verdict"]) == (4, "open"), "two pairs decide nothing"
    mean = point["figures"]["mean"]
    assert mean["original_us"]["value"] < SERVICE_US < mean["clone_us"]["value"]


def test_it_goes_on_where_it_stopped_and_refuses_other_runs(truth):
    study = truth.parent / "study-clone-2"
    runs = sorted(study.glob("0.3/*/runs/0*/run.json"))
    if not runs:
        pytest.skip("the test that makes the runs was not run")
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
    wait_for(lambda: [*study.glob("0.3/*/runs/0*/run.json")], "a finished run")
    child.kill()
    assert finish(child, study).code == -signal.SIGKILL
    household.assert_empty()
    answer = finish(start("synth", "verify", truth, served(truth), *words), study)
    assert answer.code in (0, 3, 4, 6), answer.err
    document = json.loads(answer.out)
    assert document["schema"] == "hindmost.verification/1"
    assert all(point["cost"] for point in document["points"] if point["figures"])
    household.assert_empty()
