"""The script of the CI jobs in examples/ci, run with a `hindmost` that records its calls."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from hindmost.cli.app import app

CI = Path(__file__).parents[2] / "examples" / "ci"
RECORDER = """#!/bin/sh
for word; do printf '%s\\n' "$word"; done >>calls
echo end >>calls
echo "# told" >"results of the job/summary.md"
set -- $CODES
code=$(eval echo "\\${$(grep -cx end calls)}")
exit "$code"
"""


@pytest.mark.parametrize(
    ("codes", "code"),
    [("0", 0), ("3", 3), ("6", 6), ("4 0", 0), ("4 4", 4)],
    ids=["held", "crossed", "invalid", "undecided, then held", "undecided twice"],
)
def test_the_script_exits_with_the_code_of_the_limits_and_adds_runs_once(
    codes: str, code: int, tmp_path: Path
) -> None:
    program = tmp_path / "bin/hindmost"
    program.parent.mkdir()
    program.write_text(RECORDER)
    program.chmod(0o755)
    env = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
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


@pytest.mark.parametrize("job", ["github-actions.yml", "gitlab-ci.yml"])
def test_both_jobs_call_the_script(job: str) -> None:
    assert "sh examples/ci/gate.sh " in (CI / job).read_text()


WORKFLOWS = sorted((Path(__file__).parents[2] / ".github/workflows").glob("*.yml"))
TARGETS = re.findall(r"^([a-z]+):", (Path(__file__).parents[2] / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_calls_targets_that_exist(file):
    called = re.findall(r"\bmake ([a-z]+)", file.read_text())
    assert called
    assert set(called) <= set(TARGETS)


def test_the_action_calls_the_gate_with_its_inputs():
    text = (Path(__file__).parents[2] / "action.yml").read_text()
    assert "examples/ci/gate.sh" in text
    inputs = set(re.findall(r"inputs\.(\w+)", text))
    assert inputs == set(re.findall(r"^  (\w+):$", text.split("runs:")[0], re.MULTILINE))
