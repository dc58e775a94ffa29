"""Commands from end to end: exit codes, stdout for data, stderr for messages, and JSON."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
from tiny_study import tiny_plan

from hindmost.cli import main
from hindmost.core.store.schema import schemas
from hindmost.core.targets import ManagedServer, parse_target


@pytest.fixture
def hindmost(capsys, monkeypatch):
    """Run a command in this process, which avoids the time for imports."""

    def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        with monkeypatch.context() as context:
            context.chdir(cwd or Path.cwd())
            code = main([*map(str, arguments)])
        output = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, output.out, output.err)

    return run


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    log = tmp_path_factory.mktemp("server") / "server.log"
    with ManagedServer(parse_target("synth").spec, cpus=(), log=log) as running:
        yield running


def test_report_prints_the_table_and_names_the_files_on_stderr(study, hindmost):
    process = hindmost("study", "report", study.folder)
    assert process.returncode == 0
    assert "p99.9" in process.stdout
    assert process.stderr == f"page: {study.folder}/report.html\nstudy: {study.folder}\n"
    assert (study.folder / "report.html").stat().st_size > 10_000


def test_report_json_is_the_stored_result_and_follows_the_schema(study, hindmost):
    process = hindmost("study", "report", study.folder, "--json")
    assert process.returncode == 0
    document = json.loads(process.stdout)
    assert document == json.loads((study.folder / "result.json").read_text())
    jsonschema.Draft202012Validator(schemas()["measure"]).validate(document)


def test_report_of_a_study_without_runs_is_an_error(study, hindmost):
    for run in study.runs():
        run.folder.rename(study.folder / f"away-{run.number}")
    process = hindmost("study", "report", study.folder, "--json")
    assert process.returncode == 1
    assert json.loads(process.stdout)["hint"] == f"hindmost measure --resume {study.folder}"


def test_doctor_json_has_facts_findings_and_a_schema(hindmost):
    process = hindmost("host", "doctor", "--json", "--spin", "10ms")
    document = json.loads(process.stdout)
    assert document["schema"] == "hindmost.doctor/2"
    assert document["facts"]["cpus_online"] >= 1
    marks = {finding["mark"] for finding in document["findings"]}
    assert marks <= {"fine", "note", "unfit"}
    assert process.returncode == (5 if "unfit" in marks else 0)
    assert process.stderr == ""


def test_doctor_checks_the_network_to_a_server(server, hindmost):
    for target in (f"memcached://{server.address}", "synth", "memcached"):
        process = hindmost("host", "doctor", target, "--json", "--spin", "10ms")
        document = json.loads(process.stdout)
        assert [nic["name"] for nic in document["facts"]["nics"]] == ["lo"], target
        (stamps,) = [finding for finding in document["findings"] if finding["id"] == "stamps"]
        assert stamps["mark"] == "fine"
        shown = hindmost("host", "doctor", target, "--spin", "10ms").stdout
        assert stamps["value"] in " ".join(shown.split())


def test_doctor_refuses_a_missing_server_or_another_protocol(server, hindmost):
    for target, exit_code, code in (
        ("memcached://127.0.0.1:1", 1, "not-listening"),
        (f"redis://{server.address}", 1, "wrong-protocol"),
        (server.address, 2, "missing-argument"),
    ):
        process = hindmost("host", "doctor", target, "--spin", "10ms", "--json")
        error = json.loads(process.stdout)
        assert (process.returncode, error["schema"], error["code"]) == (exit_code, "hindmost.error/1", code)
        assert f"error[{code}]: {error['message']}\nhint: {error['hint']}\n" in process.stderr


def test_load_runs_one_client_and_prints_its_result(server, tmp_path, hindmost):
    plan = tiny_plan().model_copy(update={"clients": 1})
    (tmp_path / "plan.json").write_text(plan.engine_plan(1, 0, "memcached", server.address))
    process = hindmost("load", "plan.json", cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    document = json.loads(process.stdout)
    assert document["schema"] == "hindmost.client/1"
    assert document["counts"]["scheduled"] > 300
    names = {path.name for path in (tmp_path / "load-result").iterdir()}
    assert names >= {"client-0.json", "client-0.hlog", "samples-0.parquet", "worst-0.parquet"}


def test_load_names_an_unknown_key_of_a_plan(tmp_path, hindmost):
    (tmp_path / "plan.json").write_text('{"schema": "hindmost.plan/1", "seed": 1, "colour": "red"}')
    process = hindmost("load", "plan.json", cwd=tmp_path)
    assert process.returncode == 2
    assert process.stderr.startswith("error[unknown-key]: ")
    assert "colour" in process.stderr


def test_a_finished_study_is_resumed_without_another_run(study, hindmost):
    process = hindmost("measure", "--resume", study.folder, "--json")
    document = json.loads(process.stdout)
    assert len(document["runs"]) == 2
    assert process.returncode == {"inconclusive": 4, "invalid": 6}[document["verdict"]]


def test_a_resumed_study_makes_only_the_missing_runs(study, hindmost):
    process = hindmost("measure", "--resume", study.folder, "--runs", "3", "--json", "--quiet")
    document = json.loads(process.stdout)
    assert [run["run"] for run in document["runs"]] == [1, 2, 3]
    assert [run["seed"] for run in document["runs"]] == [1, 2, 3]
    assert json.loads((study.folder / "manifest.json").read_text())["plan"]["runs"] == [3, 3]
    assert process.stderr == ""


def test_the_number_of_a_missing_run_is_not_used_again(study, hindmost):
    study.runs()[0].folder.rename(study.folder / "away")
    process = hindmost("measure", "--resume", study.folder, "--json", "--quiet")
    assert [run["run"] for run in json.loads(process.stdout)["runs"]] == [2, 3], process.stderr


def test_measure_attaches_to_a_running_server(server, tmp_path, hindmost):
    process = hindmost(
        *("measure", f"memcached://{server.address}", "--rate", "2k", "--runs", "1", "--duration", "300ms"),
        *("--warmup", "100ms", "--out", "study", "--require", "p50<1h", "--verbose"),
        cwd=tmp_path,
    )
    assert process.returncode in (4, 6), process.stderr
    assert "\nrun 1" in process.stderr
    assert "p50<1h" in process.stdout
    assert {"manifest.json", "result.json", "report.html", "runs"} <= {
        path.name for path in (tmp_path / "study").iterdir()
    }
