"""``hindmost synth verify`` against real servers: a clone of itself is not called different, a slower one is."""

from __future__ import annotations

import json

import jsonschema
import pytest
from measuring import finish, need_two_processors, start

from hindmost.store.documents import schemas

SHORT = ("--loads", "30%", "--pairs", "3", "--duration", "0.6s", "--warmup", "0.1s", "--quiet")
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


def verify(study, double, original):
    target = f"synth?clone={original}&protocol=http"
    return finish(start("synth", "verify", double, target, *SHORT, "--json", "--out", study), study)


def verified(folder, double, original):
    answer = verify(folder / f"study-{double.stem}", double, original)
    assert answer.out, answer.err
    return answer.code, json.loads(answer.out), answer.err


def skip_where_disturbed(result):
    left_out = sum(point["left_out"] for point in result["points"])
    if left_out > 1:
        pytest.skip(f"the host disturbed {left_out} pairs: {result['points'][0]['why']}")


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    need_two_processors()
    return clone(tmp_path_factory.mktemp("verify"))


def test_a_server_is_not_told_from_its_own_document(truth):
    code, alike, _ = verified(truth.parent, truth, truth)
    jsonschema.Draft202012Validator(schemas()["verification"]).validate(alike)
    assert alike["points"][0]["rate_per_s"] == pytest.approx(0.3e6 / SERVICE_US, rel=1e-3)
    assert (truth.parent / "study-clone-1" / "verification.html").stat().st_size > 10_000
    skip_where_disturbed(alike)
    assert (code, alike["verdict"]) in ((0, "equivalent"), (4, "open")), alike["points"]


def test_one_that_is_20_percent_slower_is_shown_to_be(truth):
    code, slower, said = verified(truth.parent, clone(truth.parent, 1.2), truth)
    skip_where_disturbed(slower)
    assert slower["points"][0]["figures"]["mean"]["clone"]["ratio"] > 1.1
    assert (code, slower["verdict"]) == (3, "different"), said


def test_it_goes_on_where_it_stopped_and_refuses_other_runs(truth):
    study = truth.parent / "study-clone-1"
    runs = sorted(study.glob("0.3/*/runs/0*/run.json"))
    if not runs:
        pytest.skip("the test that makes the runs was not run")
    times = [run.stat().st_mtime_ns for run in runs]
    before = json.loads((study / "verification.json").read_text())
    _, again, _ = verified(truth.parent, truth, truth)
    assert [run.stat().st_mtime_ns for run in runs] == times, "finished runs are never made again"
    assert sorted(study.glob("0.3/*/runs/0*/run.json")) == runs
    assert again["points"] == before["points"]
    refused = verify(study, clone(truth.parent, 1.1), truth)
    assert refused.code == 2
    assert "another clone" in refused.err
