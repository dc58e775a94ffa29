"""A process name may contain any bytes, such as half a UTF-8 character."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from hindmost import _engine
from hindmost.commands.diagnose.neighbours import busy_processes, has_thread
from hindmost.core.knobs.steps import start_time
from hindmost.core.targets.procfs import process_name, process_tree

BURN = (
    "import ctypes, time; ctypes.CDLL(None).prctl(15, b'aaaaaaaaaaaaaa\\xc3', 0, 0, 0); print('up', flush=True)\n"
    "while True: pass"
)


@pytest.fixture
def odd_process() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-P", "-c", BURN], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def test_a_process_with_half_a_character_in_its_name_is_found(odd_process):
    assert odd_process in {pid for share, pid, _ in busy_processes(0.3) if share > 0.0}
    assert process_name(odd_process).startswith("aaaaaaaaaaaaaa")
    assert process_tree(odd_process) == [odd_process]
    assert start_time(odd_process) is not None
    assert not has_thread([odd_process], {"other"})


def test_the_watch_samples_a_process_with_an_odd_name(odd_process):
    names = [name for name, _, _ in _engine.watch_counters()]
    sampler = _engine.Sampler(odd_process)
    before = dict(zip(names, sampler.now(), strict=True))
    time.sleep(0.3)
    after = dict(zip(names, sampler.now(), strict=True))
    assert after["app.user_ticks"] > before["app.user_ticks"]
