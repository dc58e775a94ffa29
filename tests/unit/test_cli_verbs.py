"""Verbs from end to end: exit codes, stdout for data, stderr for talk, machine twins."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from tiny_study import tiny_plan

from hindmost.cli import main
from hindmost.store.schema import schemas
from hindmost.targets import ManagedServer, parse_target

SCRIPT = "import sys; from hindmost.cli import main; sys.exit(main())"


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """What a shell sees of a verb."""
    words = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=90, check=False)


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


def test_report_prints_the_table_and_names_the_files_on_stderr(study):
    done = command("report", study.folder)
    assert done.returncode == 0
    assert "p99.9" in done.stdout
    assert done.stderr == f"page: {study.folder}/report.html\nstudy: {study.folder}\n"
    assert (study.folder / "report.html").stat().st_size > 10_000


def test_report_json_is_the_stored_result_and_follows_the_schema(study, hindmost):
    done = hindmost("report", study.folder, "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found == json.loads((study.folder / "result.json").read_text())
    jsonschema.Draft202012Validator(schemas()["measure"]).validate(found)


def test_report_of_a_study_without_runs_says_how_to_make_them(study, hindmost):
    for run in study.runs():
        run.folder.rename(study.folder / f"away-{run.number}")
    done = hindmost("report", study.folder)
    assert done.returncode == 1
    assert f"hint: hindmost measure --resume {study.folder}" in done.stderr
    assert done.stdout == ""


def test_doctor_json_has_facts_findings_and_a_schema(hindmost):
    done = hindmost("doctor", "--json", "--spin", "10ms")
    found = json.loads(done.stdout)
    assert found["schema"] == "hindmost.doctor/1"
    assert found["facts"]["cpus_online"] >= 1
    marks = {one["mark"] for one in found["findings"]}
    assert marks <= {"fine", "mind", "unfit"}
    assert done.returncode == (5 if "unfit" in marks else 0)
    assert done.stderr == ""


def test_doctor_judges_the_way_to_a_server(server, hindmost):
    for target in (f"memcached://{server.address}", "synth", "memcached"):
        done = hindmost("doctor", target, "--json", "--spin", "10ms")
        found = json.loads(done.stdout)
        assert [nic["name"] for nic in found["facts"]["nics"]] == ["lo"], target
        (stamps,) = [one for one in found["findings"] if one["id"] == "stamps"]
        assert (stamps["value"], stamps["mark"]) == ("lo: by the kernel", "fine")
    shown = hindmost("doctor", f"memcached://{server.address}", "--spin", "10ms").stdout
    assert "lo: by the kernel" in shown


def test_doctor_of_a_server_that_is_not_there_or_another_says_so(server, hindmost):
    for target, code, words in (
        ("memcached://127.0.0.1:1", 1, "nothing listens on 127.0.0.1:1"),
        (f"redis://{server.address}", 1, "does not speak redis"),
        (server.address, 2, "does not say its protocol"),
    ):
        done = hindmost("doctor", target, "--spin", "10ms")
        assert (done.returncode, done.stdout) == (code, ""), done
        assert words in done.stderr, done.stderr
        assert "hint: " in done.stderr


def test_load_runs_one_instance_and_prints_its_result(server, tmp_path, hindmost):
    plan = tiny_plan().model_copy(update={"clients": 1})
    (tmp_path / "plan.json").write_text(plan.engine_plan(1, 0, "memcached", server.address))
    done = hindmost("load", "plan.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == "hindmost.instance/1"
    assert found["counts"]["due"] > 300
    names = {path.name for path in (tmp_path / "load-result").iterdir()}
    assert names >= {"instance-0.json", "instance-0.hlog", "samples-0.parquet", "worst-0.parquet"}


def test_load_says_what_is_wrong_with_a_plan_by_name(tmp_path, hindmost):
    (tmp_path / "plan.json").write_text('{"schema": "hindmost.plan/1", "seed": 1, "colour": "red"}')
    done = hindmost("load", "plan.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "colour" in done.stderr
    assert "hint: see schemas/plan.schema.json" in done.stderr


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
    assert "run 1: " in done.stderr
    assert "hysteresis cannot be seen" in done.stdout
    assert {"manifest.json", "result.json", "report.html", "runs"} <= {
        path.name for path in (tmp_path / "study").iterdir()
    }


def test_a_reader_that_has_had_enough_is_no_traceback(study):
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "report", str(study.folder), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    said = child.stderr.read().decode()
    child.stderr.close()
    assert child.wait(60) in (0, 1, -signal.SIGPIPE)
    assert "Traceback" not in said
