"""A study that is killed at any moment leaves the host as it was found, after the next one has begun."""

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
    """Whether the kernel, and no code of ours, lets us."""
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
def test_whenever_a_study_is_killed_the_next_finds_the_host_as_it_was(kills: int, tmp_path: Path) -> None:
    """A few in every test run, some of them with a server; HINDMOST_KNOBS_KILLS=1000 asks the slow ring for more."""
    if shutil.which("memcached") is None:
        pytest.skip("memcached is not installed")
    need_private_mounts()
    done = subprocess.run(
        [sys.executable, str(ROUNDS), str(tmp_path), str(kills)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout)
    assert said["kills"] == kills
    assert said["differences"] == []
    kinds = {name.split()[0] for name in said["kinds"]}
    assert kinds >= ALWAYS, "what needs nothing of the host is set in every round"
    assert "host" in kinds or not can_be_written(SETTING), "the kernel lets root set it, and so must we"
    assert said["left"] >= kills / 2, "every other kill comes while something is set"
