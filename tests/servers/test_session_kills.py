"""After a diagnosis or a supervision is killed at any moment, its watchdog restores the host."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROUNDS = Path(__file__).with_name("sessions_until_killed.py")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "kills", [pytest.param(12, id="a few"), pytest.param(1000, id="many", marks=pytest.mark.nightly)]
)
def test_after_a_kill_at_any_moment_the_watchdog_restores_the_host(kills: int, tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-P", str(ROUNDS), str(tmp_path), str(kills)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    result = json.loads(process.stdout)
    assert (result["kills"], result["differences"]) == (kills, [])
    assert result["journalled"] >= kills / 6, "some kills come after the changes are journalled"
    assert kills < 100 or result["in_force"] >= kills / 20, "some kills come while a change is in force"
