"""What cannot be meant is refused with words, a hint and exit code 2, before anything starts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import Household

from hindmost.cli import main

pytestmark = pytest.mark.usefixtures("clean_folder")


@pytest.fixture
def clean_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty working folder, where a study would appear; signal handlers come back."""
    monkeypatch.chdir(tmp_path)
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run it in this process: exit code 2, one error, one hint, no study, no child."""
    before = set(Path.cwd().iterdir())
    household = Household()
    try:
        code = main(["measure", *arguments])
        assert household.left() == {}, "nothing was started"
    finally:
        household.close()
    said = capsys.readouterr()
    assert code == 2, said.err
    assert said.out == ""
    assert said.err.startswith("error: "), said.err
    assert "\nhint: " in said.err, said.err
    assert set(Path.cwd().iterdir()) == before, "no study was made"
    return said.err


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (["--rate", "0"], "rate"),
        (["--rate", "-5"], "rate"),
        (["--rate=-5"], "rate"),
        (["--rate", "nan"], "rate"),
        (["--rate", "inf"], "rate"),
        (["--rate", "1e12"], "rate"),
        (["--rate", "50q"], "rate"),
        (["--runs", "0"], "runs"),
        (["--runs", "3..2"], "runs"),
        (["--runs", "-1"], "runs"),
        (["--quantiles", "100"], "percentile"),
        (["--quantiles", "0"], "percentile"),
        (["--quantiles", "50,nan"], "percentile"),
        (["--quantiles", ""], "percentile"),
        (["--duration", "-1s"], "duration"),
        (["--duration=-1s"], "duration"),
        (["--duration", "0s"], "duration"),
        (["--duration", "2d"], "duration"),
        (["--duration", "1e300s"], "duration"),
        (["--warmup", "soon"], "warm"),
        (["--timeout", "0s"], "timeout"),
        (["--precision", "0"], "precision"),
        (["--precision", "150%"], "precision"),
        (["--clients", "0"], "clients"),
        (["--connections", "x"], "connections"),
        (["--connections", "100001"], "connections"),
        (["--samples", "-1"], "samples"),
        (["--seed", "-1"], "seed"),
        (["--server-cpus", "8000"], "8000"),
        (["--client-cpus", "3-1"], "backwards"),
        (["--arrivals", "weekly"], "weekly"),
        (["--require", "p99"], "p99"),
        (["--require", "p97<1ms"], "p97"),
        (["--require", "p99<0us"], "p99<0us"),
        (["--clients", "1024", "--pacing", "spin"], "spin"),
        (["--no-such-flag"], "no-such-flag"),
        (["one-word-too-many"], "one-word-too-many"),
        (["--workload", "no-such-file.json"], "no-such-file.json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_meant_is_refused(
    flags: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert word in refused(capsys, "synth", *flags)


@pytest.mark.parametrize(
    "target",
    [
        "",
        "synht",
        "no-such-file.toml",
        "127.0.0.1:11211",
        "gopher://127.0.0.1/",
        "memcached://",
        "memcached://a:0",
    ],
)
def test_a_target_that_is_none_is_refused(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, target)


def test_no_target_at_all_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no target" in refused(capsys)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{", "JSON"),
        ("[]", "object"),
        ("null", "object"),
        ('{"kind": "http"}', "line 1: `kind` is http"),
        ('{"get_ratio": 2}', "get_ratio"),
        ('{"keys": 0}', "keys"),
        ('{"keys": NaN}', "number"),
        ('{"colour": 1}', "colour"),
        ('{"value_bytes": {"min": 10, "max": 1}}', "line 1: unknown key min"),
    ],
)
def test_a_contradictory_workload_is_refused(
    text: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("workload.json").write_text(text)
    assert word in refused(capsys, "synth", "--workload", "workload.json")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (b"= 3", "not TOML"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b'name = "x"\nprotocol = "memcached"\n', "command is missing"),
        (b'name = "x"\nprotocol = "mongo"\ncommand = ["x", "{port}"]\n', "mongo"),
        (b'name = "x"\nprotocol = "redis"\ncommand = ["x", "{port}"]\ncolour = 1\n', "colour"),
        (b'name = "x"\nprotocol = "redis"\ncommand = ["x", "{prot}"]\n', "prot"),
    ],
)
def test_an_unreadable_target_file_is_refused(
    text: bytes, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("target.toml").write_bytes(text)
    assert word in refused(capsys, "target.toml")


def test_a_folder_that_is_not_empty_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("full").mkdir()
    Path("full/precious").write_text("data")
    assert "not an empty folder" in refused(capsys, "synth", "--out", "full")
    assert Path("full/precious").read_text() == "data"


@pytest.mark.parametrize(
    ("manifest", "way"),
    [
        ('{"schema": "hindmost.study/1", "host": {}, "plan": {}}', "hindmost measure --resume study"),
        ("{}", "choose another --out"),
    ],
    ids=["a study", "what this version cannot read"],
)
def test_a_folder_that_holds_a_study_is_refused_with_the_way_to_go_on(
    manifest: str, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study/runs/0001").mkdir(parents=True)
    Path("study/manifest.json").write_text(manifest)
    Path("study/runs/0001/run.json").write_text("{}")
    assert way in refused(capsys, "synth", "--out", "study")


def test_resume_takes_no_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--resume" in refused(capsys, "synth", "--resume", "somewhere")


@pytest.mark.parametrize(
    ("manifest", "word"),
    [
        (None, "no manifest.json"),
        ("{", "cannot be read"),
        ("[]", "format"),
        ('{"schema": "hindmost.study/99"}', "hindmost.study/99"),
        ('{"schema": "hindmost.study/1"}', "lacks plan and host"),
        ('{"schema": "hindmost.study/1", "host": {}, "plan": {"target": "synth", "colour": 1}}', "colour"),
        (
            '{"schema": "hindmost.study/1", "host": {}, "plan": {"target": "synth", "rate_per_s": "x"}}',
            "rate",
        ),
    ],
)
def test_a_study_that_cannot_be_read_is_told(
    manifest: str | None, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study").mkdir()
    if manifest is not None:
        Path("study/manifest.json").write_text(manifest)
    for command in (["measure", "--resume", "study"], ["report", "study"]):
        assert main(command) == 1
        said = capsys.readouterr().err
        if command[0] == "measure" or "holds no finished run" not in said:
            assert word in said, said
        assert "\nhint: " in said, said
        assert "Traceback" not in said


@pytest.mark.parametrize("damage", ["run.json", "instance-0.json", "instance-0.hlog"])
@pytest.mark.parametrize("content", ["", "{}", "\0\1\2"])
def test_a_damaged_run_is_named(damage: str, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = Path("study/runs/0001")
    run.mkdir(parents=True)
    plan = {"target": "synth"}
    manifest = {"schema": "hindmost.study/1", "host": {"facts": {}, "findings": []}, "plan": plan}
    Path("study/manifest.json").write_text(json.dumps(manifest))
    whole = {"schema": "hindmost.run/1", "run": 1, "instances": 1, "target": {}}
    (run / "run.json").write_text(json.dumps(whole))
    (run / "instance-0.json").write_text('{"schema": "hindmost.instance/1"}')
    (run / "instance-0.hlog").write_text("")
    (run / damage).write_text(content)
    assert main(["report", "study"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: run ")
    assert "\nhint: move study/runs/0001 away" in said, said


def test_the_installed_command_refuses_as_well() -> None:
    program = Path(sys.executable).with_name("hindmost")
    done = subprocess.run(
        [program, "measure", "memcached", "--rate", "0"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: rate '0'"), done.stderr
    assert "\nhint: " in done.stderr
