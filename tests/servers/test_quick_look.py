"""``--quick`` from end to end: three short runs and one screen, though whoever reads it leaves in its midst."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from measuring import VERDICTS, ProcessTracker, hindmost

PROGRAM = "import sys; from hindmost.cli import main; sys.exit(main())"


def test_a_quick_look_fits_one_screen_and_goes_on_where_its_reader_leaves(
    process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    study, few = tmp_path / "study", tmp_path / "few.json"
    few.write_text('{"kind": "key-value", "keys": 50}')
    words = (
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
    done = subprocess.run(
        ["bash", "-c", pipe, "bash", sys.executable, "-c", PROGRAM, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
        # What a broken pipe leaves in a buffer is tried again at the end, and would become exit code 120.
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
    assert done.stdout.splitlines()[1].startswith("run 1: "), "the reader left after the first run"
    assert done.stderr == ""
    assert len(list(study.glob("runs/[0-9]*"))) == 3
    answer = json.loads((study / "result.json").read_text())
    assert done.returncode == VERDICTS[answer["verdict"]]
    assert answer["plan"]["quick"]
    assert "quick-look" in {reason["code"] for reason in answer["reasons"]} or answer["verdict"] != "valid"
    assert (study / "report.html").exists()
    process_tracker.assert_none_left()

    assert hindmost("study", "report", study).out.count("\n") <= 30, "one screen"
