"""Whoever looked on has gone: what is being measured goes on, is kept, and its exit code tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from measuring import VERDICTS, Household

PROGRAM = f"import sys; from hindmost.cli import main; sys.exit(main())"
WORDS = ("--rate", "300", "--clients", "1", "--connections", "4", "--runs", "3", "--remake", "0")
SHORT = ("--duration", "0.3s", "--warmup", "0.2s", "--quantiles", "50,90")


def test_head_in_mid_measurement_ends_nothing_and_the_code_is_that_of_the_answer(
    household: Household, tmp_path: Path
) -> None:
    study, few = tmp_path / "study", tmp_path / "few.json"
    few.write_text('{"kind": "key-value", "keys": 50}')
    words = ("measure", "synth", *WORDS, *SHORT, "--workload", few, "--out", study)
    pipe = '"$@" 2>&1 | head -n 2; exit "${PIPESTATUS[0]}"'
    done = subprocess.run(
        ["bash", "-c", pipe, "bash", sys.executable, "-c", PROGRAM, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
        # What a broken pipe leaves in a buffer is tried again at the end, and would become exit code 120.
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
    assert done.stdout.splitlines()[1].startswith("run 1: "), "it went after the first run"
    assert done.stderr == ""
    assert len(list(study.glob("runs/[0-9]*"))) == 3
    answer = json.loads((study / "result.json").read_text())
    assert done.returncode == VERDICTS[answer["verdict"]]
    assert (study / "report.html").exists()
    household.assert_empty()
