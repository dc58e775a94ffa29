"""Kinds of studies: recognition, resuming and reports from the folder."""

from __future__ import annotations

import errno
import json
import shutil
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

import msgspec
import pytest
from messages import assert_refused, raises
from rows import each_row
from tiny_study import HOST, rewrite, tiny_plan

from hindmost.cli import main
from hindmost.commands.clone.document import load_clone
from hindmost.commands.compare.batching import BatchingRequest
from hindmost.commands.compare.clone import CloneRequest
from hindmost.commands.compare.clone.ratios import LoadPoint
from hindmost.commands.compare.setting import SettingRequest
from hindmost.commands.compare.targets import TargetsRequest
from hindmost.commands.measure.search.kind import objective_of
from hindmost.core.store import Study
from hindmost.core.store.kinds import GO_ON, name_of
from hindmost.core.store.manifest import Manifest
from hindmost.core.study import kind as kinds
from hindmost.core.study.kind import KINDS, Kind, PublishedAnswer, carry_out, kind_of, refuse_another
from hindmost.core.study.talk import Silent
from hindmost.errors import Interrupted, StudyError, TargetError, UsageError

CLONE = """
schema = "hindmost.clone/1"
name = "short-tails"
[[service]]
law = { kind = "uniform", low_us = 80, high_us = 120 }
"""


PLAN = tiny_plan().model_dump(mode="json")


@pytest.fixture(scope="module", autouse=True)
def fast_prediction():
    """Simulate predictions with a fortieth of the usual number of requests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("hindmost.commands.compare.clone.answer"), "SIMULATED", 10_000)
        yield


@pytest.fixture(scope="module")
def made_verification(tmp_path_factory):
    """Return a real verification of a clone with itself: one load, one pair of tiny runs and a copy of it."""
    folder = tmp_path_factory.mktemp("verified")
    document = folder / "clone.toml"
    document.write_text(CLONE)
    clone = load_clone(document)
    plan = tiny_plan().model_copy(update={"target": f"synth?clone={document}", "clients": 1, "runs": (1, 1)})
    request = CloneRequest(clone, "wall", [LoadPoint(0.2, clone.rate_at(0.2))])
    manifest = {"plan": plan.model_dump(mode="json"), "host": HOST, "kind": "verification"}
    study = Study.create(folder / "study", {**manifest, "verification": request.manifest()})
    study.write("clone.json", clone.text)
    carry_out(study, Silent())
    for run in study.folder.glob("*/*/runs/0001"):
        shutil.copytree(run, run.with_name("0002"))
    for path in study.folder.rglob("manifest.json"):
        kept = json.loads(path.read_text())
        rewrite(path, {"plan": kept["plan"] | {"runs": [2, 2]}})
    return study.folder, carry_out(Study.open(study.folder), Silent())


@pytest.fixture
def verification(made_verification, tmp_path):
    shutil.copytree(made_verification[0], tmp_path / "verification")
    return Study.open(tmp_path / "verification")


def output_of(capsys, *words):
    """Return exit code, standard output and standard error of a command."""
    code = main([*map(str, words)])
    output = capsys.readouterr()
    return code, output.out, output.err


@each_row("name", KINDS)
def test_every_kind_of_the_table_exists_under_its_name(name):
    kind = kind_of(Study(Path("folder"), {"kind": name}))
    assert isinstance(kind, Kind)
    assert kind.name == name
    assert Study(Path("folder"), {"kind": name}).resume_command == f"hindmost {GO_ON[name]} folder"


def test_a_read_only_study_is_still_shown(verification, monkeypatch, capsys):
    from hindmost.core.store import study as room

    def full(path, text):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(room, "write_whole", full)
    code, out, err = output_of(capsys, "study", "report", verification.folder)
    assert code == 0, err
    assert out.strip()
    assert "Read-only file system" in err


def test_the_page_of_a_stored_study_is_written_to_the_given_path(verification, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert output_of(capsys, "study", "report", verification.folder, "--page", page)[0] == 0
    assert page.read_text().startswith("<!doctype html>")
    assert not (verification.folder / "report.html").exists()
    nowhere = tmp_path / "no" / "page.html"
    assert_refused(
        ["measure", "memcached", "--page", str(nowhere)], capsys, 2, "no-such-file", option="--page"
    )


def test_all_tables_have_the_same_kinds():
    assert list(KINDS) == list(GO_ON)
    assert set(KINDS) == set(get_args(get_args(get_type_hints(Manifest, include_extras=True)["kind"])[0]))


@each_row(
    ("manifest", "name"),
    [
        ({}, "measure"),
        ({"search": {"objective": "p99<1ms"}}, "search"),
        ({"attribution": {}, "sets": []}, "attribution"),
        ({"verification": {"clone": {}}}, "verification"),
        ({"kind": "measure", "search": {}}, "measure"),
        ({"kind": "trial"}, "trial"),
    ],
)
def test_a_manifest_without_a_kind_is_recognised_by_its_fields(manifest, name):
    assert name_of(manifest) == name


@each_row(
    ("kind", "stored"),
    [
        ("comparison", {"plans": [PLAN, PLAN], "margin": 0.05}),
        ("trial", {"what": {"option": "threads"}, "levels": ["4", "1"], "by": "p99"}),
        ("batching", {"sides": [[500.0, "none"], [500.0, 0.001]], "by": "mean"}),
        ("verification", {"clone": load_clone("masstree").document, "loads": [0.2]}),
    ],
)
def test_manifests_of_comparisons_from_the_first_version_are_read(kind, stored):
    requests = {
        "comparison": TargetsRequest,
        "trial": SettingRequest,
        "batching": BatchingRequest,
        "verification": CloneRequest,
    }
    request = requests[kind].read(Study(Path("folder"), {"kind": kind, "plan": PLAN, kind: stored}))
    written = json.loads(msgspec.json.encode(request.manifest()))
    assert {key: written[key] for key in stored} == json.loads(json.dumps(stored))


def test_an_unknown_kind_is_refused_with_its_name():
    with raises(StudyError, "unsupported-format", kind="later", known=list(KINDS)):
        kind_of(Study(Path("folder"), {"kind": "later"}))


@pytest.mark.parametrize(
    ("manifest", "again"),
    [
        ({"kind": "attribution"}, "hindmost attribute folder"),
        ({"verification": {}}, "hindmost compare folder"),
    ],
)
def test_resuming_with_the_wrong_command_names_the_right_one(manifest, again):
    with raises(UsageError, "wrong-study-kind", need=["measure", "search"]) as caught:
        refuse_another(Study(Path("folder"), manifest), "measure", "search")
    assert str(caught.value.hint).endswith(again)


@each_row(
    ("read", "manifest", "key"),
    [
        (objective_of, {"search": {}}, "search"),
        (CloneRequest.read, {"verification": {"clone": "masstree"}}, "verification"),
        (TargetsRequest.read, {"comparison": None}, "comparison"),
        (BatchingRequest.read, {}, "batching"),
        (SettingRequest.read, {"trial": []}, "trial"),
    ],
)
def test_a_study_without_its_request_is_refused(read, manifest, key):
    with raises(StudyError, "bad-file", key=key):
        read(Study(Path("folder"), manifest))


def refused_output(study, capsys, *words):
    """Check that a command is refused without changing the study; return its standard error."""
    before = (study.folder / "manifest.json").read_text()
    code, out, err = output_of(capsys, *words)
    assert (code, out) == (2, ""), err
    assert (study.folder / "manifest.json").read_text() == before
    return err


def test_a_verification_refuses_plain_runs(verification, capsys):
    runs = sorted(verification.folder.glob("**/run.json"))
    for words in (["measure", "--resume"], ["measure", "--runs", "9", "--resume"], ["attribute"]):
        err = refused_output(verification, capsys, *words, verification.folder)
        assert "wrong-study-kind" in err
        assert f"hindmost compare {verification.folder}" in err
    assert sorted(verification.folder.glob("**/run.json")) == runs


def test_a_part_of_a_study_cannot_be_resumed_alone(verification, capsys):
    for who in ("original", "clone"):
        part = verification.folder / "0.2" / who
        err = refused_output(Study.open(part), capsys, "measure", "--resume", part, "--runs", "9")
        assert "part-of-study" in err
        assert f"hindmost compare {verification.folder}" in err


def test_a_verification_is_reported_from_its_folder(made_verification, verification, capsys):
    (verification.folder / "verification.json").unlink()
    (verification.folder / "verification.html").unlink()
    code, out, err = output_of(capsys, "study", "report", verification.folder, "--json")
    assert code == 0, err
    first, again = dict(made_verification[1].document), json.loads(out)
    assert {**first, "created": "", "study": ""} == {**again, "created": "", "study": ""}
    assert json.loads((verification.folder / "verification.json").read_text()) == again
    assert (verification.folder / "verification.html").stat().st_size > 10_000
    assert f"page: {verification.folder}/verification.html" in err


def test_a_verification_of_the_first_version_is_reported(verification, capsys):
    manifest = {key: value for key, value in verification.manifest.items() if key != "kind"}
    manifest["verification"] = {"clone": manifest["verification"]["clone"]}
    verification.write("manifest.json", json.dumps(manifest))
    code, out, err = output_of(capsys, "study", "report", verification.folder, "--json")
    assert code == 0, err
    assert [point["load"] for point in json.loads(out)["points"]] == [0.2]


@pytest.mark.parametrize("who", ["original", "clone"])
def test_a_series_of_a_verification_is_reported_by_itself(verification, who, capsys):
    code, out, err = output_of(capsys, "study", "report", verification.folder / "0.2" / who, "--json")
    assert code == 0, err
    assert json.loads(out)["schema"] == "hindmost.measure/2"


def test_a_verification_without_a_complete_pair_says_how_to_get_one(verification, capsys):
    shutil.rmtree(verification.folder / "0.2" / "again" / "runs")
    code, out, err = output_of(capsys, "study", "report", verification.folder)
    assert (code, out) == (1, "")
    assert "no-finished-runs" in err
    assert f"hindmost compare {verification.folder}" in err


def test_a_resumed_verification_makes_only_the_missing_runs(verification, capsys):
    shutil.rmtree(verification.folder / "0.2" / "again" / "runs" / "0002")
    times = {path: path.stat().st_mtime_ns for path in verification.folder.glob("**/run.json")}
    code, out, err = output_of(capsys, *verification.resume_command.split()[1:], "--json", "--quiet")
    assert code in (0, 3, 4), err
    assert (verification.folder / "0.2/again/runs/0002/run.json").exists()
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert json.loads(out)["points"][0]["load"] == 0.2


@pytest.fixture
def fake_kind(monkeypatch, study):
    """Return a kind with the `run` of a test, and the tiny study as a study of this kind."""

    def become(run):
        result = Kind("made-up", run, lambda study: {}, publish, "")
        monkeypatch.setattr(kinds, "kind_of", lambda study: result)
        return study

    def publish(study, answer, page):
        return PublishedAnswer(answer, answer, str, kinds.Exit.DONE, ())

    return become


def test_an_interrupted_study_reports_its_kept_runs_and_how_to_resume(fake_kind):
    def run(study, talk):
        raise KeyboardInterrupt

    study = fake_kind(run)
    with raises(Interrupted, "interrupted", runs=2, path=str(study.folder)) as caught:
        carry_out(study, Silent())
    assert caught.value.hint == f"hindmost measure --resume {study.folder}"


def test_a_failed_study_keeps_its_error_and_says_how_to_resume(fake_kind):
    def run(study, talk):
        raise TargetError("server-died", "the server died", hint="look")

    study = fake_kind(run)
    with raises(TargetError, "server-died") as caught:
        carry_out(study, Silent())
    assert caught.value.hint == "look"
    (note,) = caught.value.__notes__
    assert f"hindmost measure --resume {study.folder}" in note


def test_a_study_is_locked_while_it_runs(fake_kind):
    def run(study, talk):
        with raises(StudyError, "study-in-use"), Study.open(study.folder).lock():
            pass
        return {}

    carry_out(fake_kind(run), Silent())
