"""After a study is killed at any moment, the next one restores the host when it begins."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from namespaces import need_private_mounts

ROUNDS = Path(__file__).with_name("knobs_until_killed.py")
MANY = int(os.environ.get("HINDMOST_KNOBS_KILLS", "200"))


ALWAYS = {"argument", "command", "cpus", "interference", "option"}
SETTING = Path("/proc/sys/net/ipv4/tcp_autocorking")


def can_be_written(file: Path) -> bool:
    """Whether the kernel lets us write the file."""
    try:
        with file.open("r+"):
            return True
    except OSError:
        return False


@pytest.mark.memcached
@pytest.mark.timeout(3600)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes settings")
@pytest.mark.parametrize(
    "kills", [pytest.param(4, id="a few"), pytest.param(MANY, id="many", marks=pytest.mark.nightly)]
)
def test_after_a_kill_at_any_moment_the_next_study_restores_the_host(kills: int, tmp_path: Path) -> None:
    """A few kills in every test run, some with a server; HINDMOST_KNOBS_KILLS=1000 sets the number in the nightly suite."""
    if shutil.which("memcached") is None:
        pytest.skip("memcached is not installed")
    need_private_mounts()
    process = subprocess.run(
        [sys.executable, str(ROUNDS), str(tmp_path), str(kills)], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr[-2000:]
    result = json.loads(process.stdout)
    assert result["kills"] == kills
    assert result["differences"] == []
    kinds = {name.split()[0] for name in result["kinds"]}
    assert kinds >= ALWAYS, "kinds that need no support of the host are changed in every round"
    assert "host" in kinds or not can_be_written(SETTING), "settings that root can write are changed"
    assert result["left"] >= kills / 2, "at least half of the kills come while a change is in force"
