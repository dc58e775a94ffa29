"""After `hindmost explain` is killed at any moment, nothing runs on and the host is as before."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest
from measuring import ProcessTracker, finish, hindmost, need, start

from hindmost import _engine
from hindmost.core.knobs.journal import FOLDER

KILLS = 200
LONGEST_S = 6.0
"""Latest moment of a kill: about the time that a budget of 5 s takes with start and report."""
OPTIONS = ("--rate", "1k", "--duration", "0.2s", "--warmup", "0.1s", "--stamps", "off", "--budget", "5s")


def settings_of_host() -> dict[str, str | None]:
    return {knob["name"]: knob["value"] for knob in json.loads(_engine.knobs(str(FOLDER)))}


def cgroups_of_ours() -> list[Path]:
    every = (Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup"))
    return sorted(path for path in every if path.name.startswith("hindmost-"))


@pytest.mark.nightly  # settings that other tests change meanwhile would be taken for its own
@pytest.mark.memcached
@pytest.mark.timeout(7200)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes settings of the host")
def test_after_a_kill_at_any_moment_the_host_is_as_before(tmp_path: Path) -> None:
    need("memcached")
    draw = random.Random(1)
    settings, groups = settings_of_host(), cgroups_of_ours()
    changed = ended = 0
    for number in range(KILLS):
        tracker = ProcessTracker()
        try:
            study = tmp_path / str(number)
            process = start("explain", "memcached?memory_mib=64", *OPTIONS, "--out", study)
            time.sleep(draw.uniform(0.0, LONGEST_S))
            ended += process.poll() is not None
            process.send_signal(signal.SIGKILL)
            finish(process, study)
            tracker.assert_none_left()
        finally:
            tracker.close()
        changed += settings_of_host() != settings
        restored = hindmost("host", "knobs", "restore")
        assert restored.code == 0, restored.err
        assert settings_of_host() == settings, f"kill {number}"
        assert cgroups_of_ours() == groups, f"kill {number}"
    assert ended <= KILLS / 2, "most kills come before the end"
    assert changed > 0, "some kills come while a setting is changed"
