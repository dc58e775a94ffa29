"""``--quick`` from end to end: three short runs and one screen, even if the reader of the output exits early."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from measuring import VERDICTS, ProcessTracker, hindmost

PROGRAM = "import sys; from hindmost.cli import main; sys.exit(main())"


def test_a_quick_measurement_fits_one_screen_and_continues_without_its_reader(
    process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    study, few = tmp_path / "study", tmp_path / "few.json"
    few.write_text('{"kind": "key-value", "keys": 50}')
    command = (
        "measure",
        "synth",
        "--rate",
        "2k",
        "--quick",
        "--clients",
        "1",
        "--workload",
        few,
        "--out",
        study,
    )
    pipe = '"$@" 2>&1 | head -n 2; exit "${PIPESTATUS[0]}"'
    process = subprocess.run(
        ["bash", "-c", pipe, "bash", sys.executable, "-c", PROGRAM, *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
        # At exit, Python retries output that a broken pipe left in a buffer, which would give exit code 120.
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
    assert process.stdout.splitlines()[1].startswith("run 1: "), "the reader exited after the first run"
    assert process.stderr == ""
    assert len(list(study.glob("runs/[0-9]*"))) == 3
    answer = json.loads((study / "result.json").read_text())
    assert process.returncode == VERDICTS[answer["verdict"]]
    assert answer["plan"]["quick"]
    assert "quick-look" in {reason["code"] for reason in answer["reasons"]} or answer["verdict"] != "valid"
    assert (study / "report.html").exists()
    process_tracker.assert_none_left()

    assert hindmost("study", "report", study).out.count("\n") <= 30, "one screen"
