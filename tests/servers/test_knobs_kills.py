"""A study that is killed at any moment leaves the host as it was found, after the next one has begun."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROUNDS = Path(__file__).with_name("knobs_until_killed.py")


@pytest.mark.memcached
@pytest.mark.timeout(3600)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes settings")
def test_whenever_a_study_is_killed_the_next_finds_the_host_as_it_was(tmp_path) -> None:
    """A few kills, one of them with a server; HINDMOST_KNOBS_KILLS=1000 asks for more."""
    if shutil.which("memcached") is None:
        pytest.skip("memcached is not installed")
    kills = os.environ.get("HINDMOST_KNOBS_KILLS", "4")
    done = subprocess.run(
        [sys.executable, str(ROUNDS), str(tmp_path), kills], capture_output=True, text=True, check=False
    )
    if "unshare failed" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"no namespace can be made here: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout)
    assert said["kills"] == int(kills)
    assert said["differences"] == []
    assert said["kinds"], "knobs could be set here"
    if int(kills) >= 100:
        assert said["left"] > 0, "no kill came while something was set"
