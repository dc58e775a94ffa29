"""Secrets: who can read what a study stores, and which references are followed."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from measuring import finish, hindmost, start, wait_for
from messages import raises

from hindmost.core.plan import secrets
from hindmost.core.plan.sources import read_requests
from hindmost.core.run.request import MeasureRequest
from hindmost.errors import UsageError

QUICK = ("--duration", "200ms", "--warmup", "100ms", "--runs", "1", "--clients", "1", "--rate", "500")
SECRET = "correct-horse-battery"


def other_users_modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (folder, *folder.rglob("*"))}


def test_only_its_user_can_read_a_study_during_and_after_the_run(tmp_path):
    out = tmp_path / "study"
    process = start("measure", "synth", *QUICK[:-4], "--clients", "1", "--rate", "500", "--out", out)
    wait_for(lambda: [*out.glob("runs/*/*")] or process.poll() is not None, "a run that has begun")
    during = other_users_modes(out)
    assert not [*out.rglob("plan-*")]
    answer = finish(process, out)
    assert answer.code in (0, 4), answer.err
    assert during == other_users_modes(out) == {0}


def test_a_shared_study_is_readable_by_others(tmp_path):
    out = tmp_path / "study"
    code = "import sys; from hindmost.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-P", "-c", code, "measure", "synth", *QUICK, "--out", str(out), "--shared"]
    subprocess.run(command, umask=0o022, capture_output=True, check=True)
    assert stat.S_IMODE(out.stat().st_mode) & 0o055 == 0o055


@pytest.mark.parametrize(
    "request_",
    [
        {"method": "POST", "body": f'{{"user": "a", "password": "{SECRET}"}}'},
        {"path": f"/login?api_key={SECRET}&x=1"},
        {"headers": {"X-Auth-Token": SECRET}},
        {"headers": {"Authorization": f"Bearer {SECRET}"}},
        {"body": f"grant=1&client_secret={SECRET}"},
    ],
)
def test_apparent_credentials_are_not_stored(tmp_path, request_):
    workload = {"kind": "http", "requests": [request_]}
    stored = secrets.conceal(workload)
    assert SECRET not in json.dumps(stored)
    assert secrets.reveal(stored) == workload
    assert secrets.conceal(stored) == stored
    assert secrets.given_names()


def test_other_values_are_stored_unchanged():
    workload = {
        "kind": "http",
        "requests": [{"path": "/tokens/list?session_count=1", "body": '{"password": "{{data.password}}"}'}],
    }
    assert secrets.conceal(workload)["requests"][0]["body"] == workload["requests"][0]["body"]


@pytest.fixture
def study(tmp_path):
    """A stored study of one run, edited by someone else to refer to a file of ours."""
    out, secret = tmp_path / "study", tmp_path / "shadow"
    secret.write_text(f"{SECRET}\n")
    workload = tmp_path / "workload.json"
    workload.write_text(json.dumps({"kind": "http", "requests": [{"headers": {"X-Id": "7"}}]}))
    hindmost("measure", "synth?protocol=http", *QUICK, "--workload", workload, "--out", out)
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["plan"]["workload"]["requests"][0]["headers"]["X-Id"] = f"file:{secret}"
    manifest["plan"]["runs"] = [2, 2]
    (out / "manifest.json").write_text(json.dumps(manifest))
    return out, secret


def test_a_stored_study_sends_a_local_file_only_with_consent(study):
    out, secret = study
    answer = hindmost("measure", "--resume", out, "--runs", "2", "--json")
    answer.assert_error(2, "untrusted-reference", names=[f"file:{secret}"])
    resumed = hindmost("measure", "--resume", out, "--runs", "2", "--yes", "--json")
    assert resumed.code in (0, 4), resumed


@pytest.mark.parametrize(
    ("manifest", "programs"),
    [
        (
            {"factors": [{"command": "touch {level}", "undo": "true x", "levels": ["1", "2"]}]},
            ["touch {level}", "true x"],
        ),
        (
            {"trial": {"what": {"command": "a {level}", "read": "/tmp/evil"}, "levels": []}},
            ["/tmp/evil", "a {level}"],
        ),
        ({"factors": [{"interference": "/tmp/evil", "on": "0"}]}, ["/tmp/evil"]),
        ({"factors": [{"interference": "spin", "on": "0"}]}, []),
        ({"plan": {"target": "/tmp/evil.toml?size=1"}}, ["/tmp/evil.toml?size=1"]),
        ({"comparison": {"plans": [{"target": "evil.toml"}]}}, ["evil.toml"]),
        ({"plan": {"target": __file__}}, [__file__]),
        ({"plan": {"target": "memcached?connections=5"}}, []),
        ({"plan": {"target": "http://h/evil.toml"}}, []),
        ({"plan": {"workload": {"requests": [{"command": "GET x", "weight": 1}]}}}, []),
    ],
)
def test_a_stored_study_runs_its_own_programs_only_with_consent(manifest, programs):
    secrets._trusted.clear()
    assert secrets.untrusted_references(manifest) == [f"program:{program}" for program in programs]
    secrets.trust(manifest)
    assert secrets.untrusted_references(manifest) == []


def test_a_plan_resolves_only_references_from_its_command_line(monkeypatch):
    monkeypatch.setenv("OURS_OF_TEST", SECRET)
    with raises(UsageError, "untrusted-reference", name="env:OURS_OF_TEST"):
        secrets.reveal_text("Bearer env:OURS_OF_TEST", "header Authorization")
    MeasureRequest(
        target="http://127.0.0.1:1/", header=("Authorization: Bearer env:OURS_OF_TEST",), rate="1"
    ).plan()
    assert secrets.reveal_text("Bearer env:OURS_OF_TEST", "header Authorization") == f"Bearer {SECRET}"


def test_references_in_documents_of_other_tools_are_not_followed(tmp_path):
    har, openapi, vegeta = (tmp_path / name for name in ("a.har", "a.json", "a.txt"))
    header = {"name": "X-Id", "value": "file:/etc/shadow"}
    request = {"method": "GET", "url": "http://h/x", "headers": [header]}
    har.write_text(json.dumps({"log": {"entries": [{"request": request}]}}))
    parameter = {"name": "X-Id", "in": "header", "example": "env:HOME", "required": True}
    operation = {"get": {"parameters": [parameter], "responses": {}}}
    openapi.write_text(json.dumps({"openapi": "3.0.0", "paths": {"/x": operation}}))
    vegeta.write_text("GET http://h/x\nX-Id: file:/etc/shadow\n")
    for path, reference in ((har, "file:/etc/shadow"), (openapi, "env:HOME"), (vegeta, "file:/etc/shadow")):
        workload, _ = read_requests(path)
        assert secrets.references(workload) == set(), path
        assert reference in json.dumps(secrets.reveal(secrets.conceal(workload))), path
