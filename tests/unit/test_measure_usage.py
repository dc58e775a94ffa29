"""`hindmost measure` refuses what cannot be meant: exit code 2, one error with a hint, before anything starts."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from measuring import offspring

from hindmost.cli import main

pytestmark = pytest.mark.usefixtures("clean_folder")
BOTH = "memcached://127.0.0.1:1,127.0.0.1:2"
HTTPS = "https://127.0.0.1:1/"


@pytest.fixture
def clean_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty working folder, where a study would appear. Signal handlers are restored at the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HINDMOST_TEST_PLAN", '{"host_looks": 1, "host_spin_s": 0.02}')
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str, exit_code: int) -> dict[str, Any]:
    """Run it in this process: one error with a hint, no traceback; returns the document."""
    code = main([*arguments, "--json"])
    said = capsys.readouterr()
    assert code == exit_code, said.err
    assert len(re.findall(r"^error\[[a-z0-9-]+\]: ", said.err, re.MULTILINE)) == 1, said.err
    assert len(re.findall(r"^hint: ", said.err, re.MULTILINE)) == 1, said.err
    assert "Traceback" not in said.err
    document: dict[str, Any] = json.loads(said.out)
    assert document["schema"] == "hindmost.error/1"
    return document


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Measure: exit code 2, no study, no child process."""
    files, processes = set(Path.cwd().iterdir()), set(offspring())
    document = asked(capsys, "measure", *arguments, exit_code=2)
    assert set(offspring()) <= processes, "nothing was started"
    assert set(Path.cwd().iterdir()) == files, "no study was made"
    return document


@pytest.mark.parametrize(
    "flags",
    [
        ["--rate", "0"],
        ["--rate=-5"],
        ["--rate", "nan"],
        ["--rate", "50q"],
        ["--runs", "3..2"],
        ["--quantiles", "100"],
        ["--quantiles", ""],
        ["--duration=-1s"],
        ["--duration", "2d"],
        ["--duration", "1e300s"],
        ["--timeout", "0s"],
        ["--precision", "150%"],
        ["--clients", "0"],
        ["--connections", "x"],
        ["--connections", "100001"],
        ["--server-cpus", "8000"],
        ["--client-cpus", "3-1"],
        ["--arrivals", "weekly"],
        ["--require", "p99"],
        ["--require", "p97<1ms"],
        ["--require", "p99<1ms", "--require", "p99>2ms"],
        ["--clients", "1024", "--pacing", "spin"],
        ["--threads", "1024", "--pacing", "spin"],
        ["--no-such-flag"],
        ["one-word-too-many"],
        ["--workload", "no-such-file.json"],
        ["--resume", "somewhere"],
        ["--find-rate", "p99<5ms", "--verify-wire"],
        ["--source", "192.0.2.1"],
        ["--source", "127.0.0.2,127.0.0.2"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, "synth", *flags)


@pytest.mark.parametrize(
    "words",
    [
        [],
        [""],
        ["synht"],
        ["no-such-file.toml"],
        ["127.0.0.1:11211"],
        ["gopher://127.0.0.1/"],
        ["memcached://"],
        ["memcached://a:0"],
        ["memcached://127.0.0.1:1,127.0.0.1:1"],
        [BOTH, "--closed", "--rate", "100"],
        ["synth", "--sharding", "ketama"],
        ["memcached://127.0.0.1:1", "--user", "ada"],
        ["http://127.0.0.1:1/", "--ca", "ca.pem"],
        [HTTPS, "--ca", "absent.pem"],
        [HTTPS, "--io", "io_uring"],
        [HTTPS, "--verify-wire"],
        ["dns://127.0.0.1:1/x", "--verify-wire"],
        ["memcached-udp://127.0.0.1:1", "--requests-per-connection", "4"],
        ["ws://127.0.0.1:1/", "--method", "POST"],
        ["grpc://127.0.0.1:1/shop.Orders/Get", "--accept", "2xx"],
        ["grpc://127.0.0.1:1/shop.Orders/Get", "--body", '{"id": 1}'],
        ["grpc://127.0.0.1:1"],
    ],
    ids=" ".join,
)
def test_a_target_or_an_option_that_does_not_fit_it_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    refused(capsys, *words)


@pytest.mark.parametrize(
    "text", ["{", "null", '{"kind": "http"}', '{"get_ratio": 2}', '{"keys": NaN}', '{"colour": 1}']
)
def test_a_contradictory_workload_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("workload.json").write_text(text)
    refused(capsys, "synth", "--workload", "workload.json")


@pytest.mark.parametrize("text", [b"= 3", b"\xff\xfe\x00", b'name = "x"\nprotocol = "memcached"\n'])
def test_an_unreadable_target_file_is_refused(text: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    Path("target.toml").write_bytes(text)
    refused(capsys, "target.toml")


def test_a_folder_that_is_not_empty_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("full").mkdir()
    Path("full/precious").write_text("data")
    refused(capsys, "synth", "--out", "full")
    assert Path("full/precious").read_text() == "data"


def test_a_folder_that_cannot_be_made_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    asked(capsys, "measure", "synth", "--out", "file/study", exit_code=1)


@pytest.mark.parametrize(
    ("manifest", "way"),
    [
        ('{"schema": "hindmost.study/1", "host": {}, "plan": {}}', "--resume study"),
        ("{}", "--out"),
    ],
    ids=["a study", "what this version cannot read"],
)
def test_a_folder_that_holds_a_study_is_refused_with_the_command_that_continues_it(
    manifest: str, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study/runs/0001").mkdir(parents=True)
    Path("study/manifest.json").write_text(manifest)
    Path("study/runs/0001/run.json").write_text("{}")
    assert way in refused(capsys, "synth", "--out", "study")["hint"]


@pytest.mark.parametrize(
    "manifest",
    [
        None,
        "{",
        "[]",
        '{"schema": "hindmost.study/99"}',
        '{"schema": "hindmost.study/1"}',
        '{"schema": "hindmost.study/1", "host": {}, "plan": {"target": "synth", "colour": 1}}',
        '{"schema": "hindmost.study/1", "host": {}, "plan": {"target": "synth", "rate_per_s": "x"}}',
    ],
)
def test_a_study_that_cannot_be_read_is_an_error(
    manifest: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study").mkdir()
    if manifest is not None:
        Path("study/manifest.json").write_text(manifest)
    for command in (["measure", "--resume", "study"], ["report", "study"]):
        asked(capsys, *command, exit_code=1)


@pytest.mark.parametrize(
    ("damage", "content"), [("run.json", "{}"), ("instance-0.json", ""), ("instance-0.hlog", "\0\1\2")]
)
def test_a_damaged_run_is_named(damage: str, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = Path("study/runs/0001")
    run.mkdir(parents=True)
    manifest = {
        "schema": "hindmost.study/1",
        "host": {"facts": {}, "findings": []},
        "plan": {"target": "synth"},
    }
    Path("study/manifest.json").write_text(json.dumps(manifest))
    whole = {"schema": "hindmost.run/1", "run": 1, "instances": 1, "target": {}}
    (run / "run.json").write_text(json.dumps(whole))
    (run / "instance-0.json").write_text('{"schema": "hindmost.instance/1"}')
    (run / "instance-0.hlog").write_text("")
    (run / damage).write_text(content)
    document = asked(capsys, "report", "study", exit_code=1)
    assert "study/runs/0001" in document["hint"]


def test_the_installed_command_refuses_as_well() -> None:
    program = Path(sys.executable).with_name("hindmost")
    done = subprocess.run(
        [program, "measure", "memcached", "--rate", "0"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error["), done.stderr
    assert "\nhint: " in done.stderr
