"""Verbs from end to end: exit codes, stdout for data, stderr for talk, machine twins."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
from tiny_study import tiny_plan

from hindmost.cli import main
from hindmost.store.schema import schemas
from hindmost.targets import ManagedServer, parse_target


@pytest.fixture
def hindmost(capsys, monkeypatch):
    """What a shell sees of a verb, said by this process: without its imports, which take most of the time."""

    def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        with monkeypatch.context() as there:
            there.chdir(cwd or Path.cwd())
            code = main([*map(str, arguments)])
        said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    return run


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    log = tmp_path_factory.mktemp("server") / "server.log"
    with ManagedServer(parse_target("synth").spec, cpus=(), log=log) as running:
        yield running


def test_report_prints_the_table_and_names_the_files_on_stderr(study, hindmost):
    done = hindmost("study", "report", study.folder)
    assert done.returncode == 0
    assert "p99.9" in done.stdout
    assert done.stderr == f"page: {study.folder}/report.html\nstudy: {study.folder}\n"
    assert (study.folder / "report.html").stat().st_size > 10_000


def test_report_json_is_the_stored_result_and_follows_the_schema(study, hindmost):
    done = hindmost("study", "report", study.folder, "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found == json.loads((study.folder / "result.json").read_text())
    jsonschema.Draft202012Validator(schemas()["measure"]).validate(found)


def test_report_of_a_study_without_runs_is_an_error(study, hindmost):
    for run in study.runs():
        run.folder.rename(study.folder / f"away-{run.number}")
    done = hindmost("study", "report", study.folder, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["hint"] == f"hindmost measure --resume {study.folder}"


def test_doctor_json_has_facts_findings_and_a_schema(hindmost):
    done = hindmost("host", "doctor", "--json", "--spin", "10ms")
    found = json.loads(done.stdout)
    assert found["schema"] == "hindmost.doctor/1"
    assert found["facts"]["cpus_online"] >= 1
    marks = {one["mark"] for one in found["findings"]}
    assert marks <= {"fine", "mind", "unfit"}
    assert done.returncode == (5 if "unfit" in marks else 0)
    assert done.stderr == ""


def test_doctor_judges_the_way_to_a_server(server, hindmost):
    for target in (f"memcached://{server.address}", "synth", "memcached"):
        done = hindmost("host", "doctor", target, "--json", "--spin", "10ms")
        found = json.loads(done.stdout)
        assert [nic["name"] for nic in found["facts"]["nics"]] == ["lo"], target
        (stamps,) = [one for one in found["findings"] if one["id"] == "stamps"]
        assert stamps["mark"] == "fine"
        shown = hindmost("host", "doctor", target, "--spin", "10ms").stdout
        assert stamps["value"] in shown


def test_doctor_refuses_a_server_that_is_not_there_or_another(server, hindmost):
    for target, exit_code, code in (
        ("memcached://127.0.0.1:1", 1, "not-listening"),
        (f"redis://{server.address}", 1, "wrong-protocol"),
        (server.address, 2, "missing-argument"),
    ):
        done = hindmost("host", "doctor", target, "--spin", "10ms", "--json")
        error = json.loads(done.stdout)
        assert (done.returncode, error["schema"], error["code"]) == (exit_code, "hindmost.error/1", code)
        assert f"error[{code}]: {error['message']}\nhint: {error['hint']}\n" in done.stderr


def test_load_runs_one_client_and_prints_its_result(server, tmp_path, hindmost):
    plan = tiny_plan().model_copy(update={"clients": 1})
    (tmp_path / "plan.json").write_text(plan.engine_plan(1, 0, "memcached", server.address))
    done = hindmost("load", "plan.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == "hindmost.client/1"
    assert found["counts"]["scheduled"] > 300
    names = {path.name for path in (tmp_path / "load-result").iterdir()}
    assert names >= {"client-0.json", "client-0.hlog", "samples-0.parquet", "worst-0.parquet"}


def test_load_names_the_wrong_key_of_a_plan(tmp_path, hindmost):
    (tmp_path / "plan.json").write_text('{"schema": "hindmost.plan/1", "seed": 1, "colour": "red"}')
    done = hindmost("load", "plan.json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error[unknown-key]: ")
    assert "colour" in done.stderr


def test_a_finished_study_is_resumed_without_another_run(study, hindmost):
    done = hindmost("measure", "--resume", study.folder, "--json")
    found = json.loads(done.stdout)
    assert len(found["runs"]) == 2
    assert done.returncode == {"inconclusive": 4, "invalid": 6}[found["verdict"]]


def test_a_resumed_study_makes_only_the_runs_that_are_missing(study, hindmost):
    done = hindmost("measure", "--resume", study.folder, "--runs", "3", "--json", "--quiet")
    found = json.loads(done.stdout)
    assert [run["run"] for run in found["runs"]] == [1, 2, 3]
    assert [run["seed"] for run in found["runs"]] == [1, 2, 3]
    assert json.loads((study.folder / "manifest.json").read_text())["plan"]["runs"] == [3, 3]
    assert done.stderr == ""


def test_a_run_that_was_moved_away_is_not_made_over_another(study, hindmost):
    study.runs()[0].folder.rename(study.folder / "away")
    done = hindmost("measure", "--resume", study.folder, "--json", "--quiet")
    assert [run["run"] for run in json.loads(done.stdout)["runs"]] == [2, 3], done.stderr


def test_measure_attaches_to_a_running_server(server, tmp_path, hindmost):
    done = hindmost(
        *("measure", f"memcached://{server.address}", "--rate", "2k", "--runs", "1", "--duration", "300ms"),
        *("--warmup", "100ms", "--out", "study", "--require", "p50<1h", "--verbose"),
        cwd=tmp_path,
    )
    assert done.returncode in (4, 6), done.stderr
    assert "\nrun 1" in done.stderr
    assert "p50<1h" in done.stdout
    assert {"manifest.json", "result.json", "report.html", "runs"} <= {
        path.name for path in (tmp_path / "study").iterdir()
    }
