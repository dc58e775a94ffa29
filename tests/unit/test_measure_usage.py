"""Usage errors of `hindmost measure`: exit code 2 and one error with a hint, before anything starts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from measuring import descendants
from run_records import run_document

from hindmost.cli import main

pytestmark = pytest.mark.usefixtures("clean_folder")
TWO_SERVERS = "memcached://127.0.0.1:1,127.0.0.1:2"
HTTPS = "https://127.0.0.1:1/"
CPUS = sorted(os.sched_getaffinity(0))
GRPC = "grpc://127.0.0.1:1/shop.Orders/Get"


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


def run_failing(capsys: pytest.CaptureFixture[str], *arguments: str, exit_code: int) -> dict[str, Any]:
    """Run a command in this process; check for one error with a hint and no traceback; return the error."""
    code = main([*arguments, "--json"])
    output = capsys.readouterr()
    assert code == exit_code, output.err
    assert len(re.findall(r"^error\[[a-z0-9-]+\]: ", output.err, re.MULTILINE)) == 1, output.err
    assert len(re.findall(r"^hint: ", output.err, re.MULTILINE)) == 1, output.err
    assert "Traceback" not in output.err
    document: dict[str, Any] = json.loads(output.out)
    assert document["schema"] == "hindmost.error/1"
    return document


def run_refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Run `measure`, which must fail with exit code 2 without a study or a child process; return the error."""
    files, processes = set(Path.cwd().iterdir()), set(descendants())
    document = run_failing(capsys, "measure", *arguments, exit_code=2)
    assert set(descendants()) <= processes, "no process may start"
    assert set(Path.cwd().iterdir()) == files, "no study may be created"
    return document


def assert_refused(document: dict[str, Any], error: tuple[str, dict[str, Any]]) -> None:
    code, fields = error
    assert document["code"] == code, document
    assert {name: document["fields"].get(name) for name in fields} == fields


def bad_value(name: str, value: object, by: str = "name") -> tuple[str, dict[str, Any]]:
    """Return the error for an impossible value."""
    return "bad-value", {by: name, "value": value}


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (["--rate", "0"], bad_value("rate", "0")),
        (["--rate=-5"], bad_value("rate", "-5")),
        (["--rate", "nan"], bad_value("rate", "nan")),
        (["--rate", "50q"], bad_value("rate", "50q")),
        (["--runs", "3..2"], bad_value("runs", "3..2")),
        (["--quantiles", "100"], bad_value("percentile", "100")),
        (["--quantiles", ""], bad_value("percentile", "")),
        (["--duration=-1s"], bad_value("duration", "-1s")),
        (["--duration", "2d"], bad_value("duration", "2d")),
        (["--duration", "1e300s"], bad_value("duration", "1e300s")),
        (["--timeout", "0s"], bad_value("timeout", "0s")),
        (["--precision", "150%"], bad_value("precision", "150%")),
        (["--clients", "0"], bad_value("--clients", 0, "option")),
        (["--connections", "x"], bad_value("--connections", "x", "option")),
        (["--connections", "100001"], bad_value("--connections", 100001, "option")),
        (["--server-cpus", "8000"], bad_value("--server-cpus", 8000, "option")),
        (["--client-cpus", "3-1"], bad_value("--client-cpus", "3-1", "option")),
        (["--arrivals", "weekly"], ("unknown-name", {"option": "--arrivals", "name": "weekly"})),
        (["--require", "p99"], bad_value("limit", "p99")),
        (["--require", "p97<1ms"], ("unmeasured-percentile", {"name": "p97"})),
        (
            ["--require", "p99<1ms", "--require", "p99>2ms"],
            ("conflicting-options", {"value": "p99<1ms", "other": "p99>2ms"}),
        ),
        (["--clients", "1024", "--pacing", "spin"], ("few-processors", {"need": 1024})),
        (
            ["--live", "--clients", str(len(CPUS)), "--client-cpus", ",".join(map(str, CPUS))],
            ("few-processors", {"option": "--live"}),
        ),
        (["--no-such-flag"], ("unknown-option", {"option": "--no-such-flag"})),
        (["one-word-too-many"], ("unexpected-argument", {"value": "one-word-too-many"})),
        (["--workload", "no-such-file.json"], ("no-such-file", {"path": "no-such-file.json"})),
        (["--resume", "somewhere"], ("conflicting-options", {"options": ["TARGET", "--resume"]})),
        (
            ["--find-rate", "p99<5ms", "--verify-wire"],
            ("conflicting-options", {"options": ["--verify-wire", "--find-rate"]}),
        ),
        (["--source", "192.0.2.1"], ("unknown-name", {"option": "--source", "value": "192.0.2.1"})),
        (
            ["--source", "127.0.0.2,127.0.0.2"],
            ("duplicate-name", {"option": "--source", "value": "127.0.0.2"}),
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_impossible_option_is_refused(
    flags: list[str], error: tuple[str, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(run_refused(capsys, "synth", *flags), error)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], ("missing-argument", {"argument": "TARGET"})),
        ([""], ("missing-argument", {"argument": "TARGET"})),
        (["synht"], ("unknown-name", {"name": "synht"})),
        (["no-such-file.toml"], ("no-such-file", {"path": "no-such-file.toml"})),
        (["127.0.0.1:11211"], ("missing-argument", {"name": "protocol"})),
        (["gopher://127.0.0.1/"], ("unknown-name", {"name": "gopher"})),
        (["memcached://"], ("missing-argument", {"name": "host"})),
        (["memcached://a:0"], ("bad-value", {"name": "port", "port": "0"})),
        (["memcached://127.0.0.1:1,127.0.0.1:1"], ("duplicate-name", {"name": "127.0.0.1:1"})),
        ([TWO_SERVERS, "--closed", "--rate", "100"], bad_value("load.loop", "closed", "key")),
        (["synth", "--sharding", "ketama"], bad_value("--sharding", "ketama", "option")),
        (["memcached://127.0.0.1:1", "--user", "ada"], ("unsupported", {"option": "--user"})),
        (["http://127.0.0.1:1/", "--ca", "ca.pem"], ("unsupported", {"option": "--ca"})),
        ([HTTPS, "--ca", "absent.pem"], ("tls-file", {})),
        ([HTTPS, "--io", "io_uring"], bad_value("io", "io_uring", "key")),
        ([HTTPS, "--verify-wire"], ("unsupported", {"option": "--verify-wire", "transport": "tls"})),
        (
            ["dns://127.0.0.1:1/x", "--verify-wire"],
            ("unsupported", {"option": "--verify-wire", "transport": "udp"}),
        ),
        (
            ["memcached-udp://127.0.0.1:1", "--requests-per-connection", "4"],
            ("bad-value", {"key": "requests_per_connection"}),
        ),
        (["ws://127.0.0.1:1/", "--method", "POST"], ("unsupported", {"option": "--method"})),
        (
            ["http2://127.0.0.1:1/", "--check", "size<=1"],
            ("unsupported", {"option": "--check", "protocol": "http2"}),
        ),
        (["ws://127.0.0.1:1/", "--follow", "1"], ("unsupported", {"option": "--follow", "protocol": "ws"})),
        (
            ["http://127.0.0.1:1/", "--follow", "1", "--requests-per-connection", "4"],
            ("bad-value", {"key": "follow"}),
        ),
        (["http://127.0.0.1:1/", "--check", "size"], bad_value("checks[0]", '"size"', "key")),
        ([GRPC, "--accept", "2xx"], ("unsupported", {"option": "--accept", "protocol": "grpc"})),
        ([GRPC, "--body", '{"id": 1}'], ("missing-argument", {"option": "--descriptors"})),
        (["grpc://127.0.0.1:1"], bad_value("path", "/", "key")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_impossible_target_or_option_for_it_is_refused(
    arguments: list[str], error: tuple[str, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(run_refused(capsys, *arguments), error)


@pytest.mark.parametrize(
    ("text", "code", "key"),
    [
        ("{", "bad-file", None),
        ("null", "bad-file", None),
        ('{"kind": "http"}', "bad-value", "kind"),
        ('{"get_ratio": 2}', "bad-value", "get_ratio"),
        ('{"keys": NaN}', "bad-value", None),
        ('{"colour": 1}', "unknown-key", "colour"),
    ],
)
def test_a_contradictory_workload_is_refused(
    text: str, code: str, key: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("workload.json").write_text(text)
    document = run_refused(capsys, "synth", "--workload", "workload.json")
    assert (document["code"], document["fields"].get("key")) == (code, key)


@pytest.mark.parametrize(
    ("text", "code", "key"),
    [
        (b"= 3", "bad-file", None),
        (b"\xff\xfe\x00", "bad-file", None),
        (b'name = "x"\nprotocol = "memcached"\n', "missing-argument", "command"),
    ],
)
def test_an_unreadable_target_file_is_refused(
    text: bytes, code: str, key: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("target.toml").write_bytes(text)
    document = run_refused(capsys, "target.toml")
    assert (document["code"], document["fields"].get("key")) == (code, key)
    assert document["fields"]["path"] == "target.toml"


def test_a_folder_that_is_not_empty_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("full").mkdir()
    Path("full/precious").write_text("data")
    assert run_refused(capsys, "synth", "--out", "full")["code"] == "folder-in-use"
    assert Path("full/precious").read_text() == "data"


def test_a_folder_that_cannot_be_created_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    run_failing(capsys, "measure", "synth", "--out", "file/study", exit_code=1)


@pytest.mark.parametrize(
    ("manifest", "hint"),
    [
        ('{"schema": "hindmost.study/1", "host": {}, "plan": {}}', "--resume study"),
        ("{}", "--out"),
    ],
    ids=["a study", "an unreadable manifest"],
)
def test_a_folder_with_a_study_is_refused_with_the_command_to_resume_it(
    manifest: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study/runs/0001").mkdir(parents=True)
    Path("study/manifest.json").write_text(manifest)
    Path("study/runs/0001/run.json").write_text("{}")
    assert hint in run_refused(capsys, "synth", "--out", "study")["hint"]


MANIFEST = '{"schema": "hindmost.study/1", "host": {}, "plan": {"target": "synth", %s}}'


@pytest.mark.parametrize(
    ("manifest", "resumed", "reported"),
    [
        (None, "no-such-study", "no-such-study"),
        ("{", "bad-file", "bad-file"),
        ("[]", "unsupported-format", "unsupported-format"),
        ('{"schema": "hindmost.study/99"}', "unsupported-format", "unsupported-format"),
        ('{"schema": "hindmost.study/1"}', "bad-file", "bad-file"),
        (MANIFEST % '"colour": 1', "bad-file", "no-finished-runs"),
        (MANIFEST % '"rate_per_s": "x"', "bad-file", "no-finished-runs"),
    ],
)
def test_an_unreadable_study_is_an_error(
    manifest: str | None, resumed: str, reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study").mkdir()
    if manifest is not None:
        Path("study/manifest.json").write_text(manifest)
    assert run_failing(capsys, "measure", "--resume", "study", exit_code=1)["code"] == resumed
    assert run_failing(capsys, "study", "report", "study", exit_code=1)["code"] == reported


@pytest.mark.parametrize(
    ("damage", "content"), [("run.json", "{}"), ("client-0.json", ""), ("client-0.hlog", "\0\1\2")]
)
def test_a_damaged_run_is_reported(damage: str, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = Path("study/runs/0001")
    run.mkdir(parents=True)
    manifest = {
        "schema": "hindmost.study/1",
        "host": {"facts": {}, "findings": []},
        "plan": {"target": "synth"},
    }
    Path("study/manifest.json").write_text(json.dumps(manifest))
    (run / "run.json").write_text(json.dumps(run_document()))
    (run / "client-0.json").write_text('{"schema": "hindmost.client/1"}')
    (run / "client-0.hlog").write_text("")
    (run / damage).write_text(content)
    document = run_failing(capsys, "study", "report", "study", exit_code=1)
    assert document["code"] == "damaged-run"
    assert "study/runs/0001" in document["hint"]


def test_the_installed_command_refuses_as_well() -> None:
    program = Path(sys.executable).with_name("hindmost")
    process = subprocess.run(
        [program, "measure", "memcached", "--rate", "0"], capture_output=True, text=True, check=False
    )
    assert process.returncode == 2
    assert process.stderr.startswith("error["), process.stderr
    assert "\nhint: " in process.stderr
