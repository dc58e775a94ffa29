"""The GitHub action, and the script of the CI jobs in examples/ci, run with a `hindmost` that records its calls."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from hindmost.cli.app import app

ROOT = Path(__file__).parents[2]
CI = ROOT / "examples" / "ci"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
RECORDER = """#!/bin/sh
for word; do printf '%s\\n' "$word"; done >>calls
echo end >>calls
echo "# told" >"results of the job/summary.md"
set -- $CODES
code=$(eval echo "\\${$(grep -cx end calls)}")
exit "$code"
"""


def record_calls(folder: Path) -> str:
    """Write the recorder as `hindmost`, and return a PATH on which it comes first."""
    program = folder / "bin/hindmost"
    program.parent.mkdir()
    program.write_text(RECORDER)
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


@pytest.mark.parametrize(
    ("codes", "code"),
    [("0", 0), ("3", 3), ("6", 6), ("4 0", 0), ("4 4", 4)],
    ids=["held", "crossed", "invalid", "undecided, then held", "undecided twice"],
)
def test_the_script_exits_with_the_code_of_the_limits_and_adds_runs_once(
    codes: str, code: int, tmp_path: Path
) -> None:
    env = {
        "PATH": record_calls(tmp_path),
        "CODES": codes,
        "LIMITS": "p50<10m,errors<5%",
        "OUT": "results of the job",
        "MORE_RUNS": "3",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "step.md"),
    }
    script = ["sh", str(CI / "gate.sh"), "synth", "--rate", "300"]
    process = subprocess.run(script, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert process.returncode == code, process.stderr
    calls = [call.splitlines() for call in (tmp_path / "calls").read_text().split("end\n")[:-1]]
    assert len(calls) == len(codes.split())
    for call in calls:
        _, _, unused, *_ = app.parse_known_args(call)
        assert not unused, call
    assert calls[0][:4] == ["measure", "synth", "--rate", "300"]
    assert calls[0][calls[0].index("--require") + 1] == "p50<10m,errors<5%"
    if len(calls) > 1:
        assert calls[1][:5] == ["measure", "--resume", "results of the job/study", "--runs", "3"]
    assert (tmp_path / "step.md").read_text() == (tmp_path / "results of the job/summary.md").read_text()


@pytest.mark.parametrize(
    ("codes", "undecided", "code"),
    [("0", "fail", 0), ("3", "warn", 3), ("4 4", "fail", 4), ("4 4", "warn", 0)],
)
def test_the_action_gates_and_tells_the_code(codes: str, undecided: str, code: int, tmp_path: Path) -> None:
    step = ACTION["runs"]["steps"][-1]
    env = {
        "PATH": record_calls(tmp_path),
        "CODES": codes,
        "TARGET": "synth",
        "LIMITS": "p50<10m",
        "OPTIONS": "--rate 300",
        "OUT": "results of the job",
        "UNDECIDED": undecided,
        "ACTION": str(ROOT),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    assert set(step["env"]) <= set(env)
    shell = ["bash", "-eo", "pipefail", "-c", step["run"]]
    process = subprocess.run(shell, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert process.returncode == code, process.stderr
    assert (tmp_path / "output").read_text() == f"code={codes[-1]}\n"
    assert (tmp_path / "calls").read_text().splitlines()[:4] == ["measure", "synth", "--rate", "300"]


def test_the_action_uses_each_of_its_inputs() -> None:
    assert set(re.findall(r"inputs\.(\w+)", (ROOT / "action.yml").read_text())) == set(ACTION["inputs"])


def test_the_example_jobs_use_the_action_and_the_script() -> None:
    github = yaml.safe_load((CI / "github-actions.yml").read_text())
    (call,) = (step for step in github["jobs"]["latency"]["steps"] if "/hindmost@" in step.get("uses", ""))
    assert set(call["with"]) <= set(ACTION["inputs"])
    assert "sh gate.sh " in yaml.safe_load((CI / "gitlab-ci.yml").read_text())["latency"]["script"][-1]


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_calls_targets_that_exist(file: Path) -> None:
    called = re.findall(r"\bmake ([a-z]+)", file.read_text())
    assert called
    assert set(called) <= set(TARGETS)
