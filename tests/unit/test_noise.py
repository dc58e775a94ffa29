"""The noise maker of the proof is noisy, and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "setup" / "noise.sh"
PATIENCE_S = 15

Start = Callable[..., subprocess.Popen[bytes]]

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("setpriv", "taskset", "chrt", "setsid"))), reason="util-linux is not complete"
)


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """What all descendants of this test carry in their environment."""
    one = uuid.uuid4().hex
    monkeypatch.setenv("HINDMOST_NOISE_TEST", one)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("HINDMOST_NOISE_SECONDS", "20")  # whatever goes wrong here
    yield one
    for pid in marked(one):
        os.kill(pid, signal.SIGKILL)


def marked(mark: str) -> dict[int, str]:
    """The processes that carry the mark, but zombies, with their command lines."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            environment, line = (place / "environ").read_bytes(), (place / "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in environment and line and int(place.name) != os.getpid():
            found[int(place.name)] = line.replace(b"\0", b" ").decode()
    return found


def makers(mark: str) -> set[str]:
    """What makes noise now."""
    return {line.split()[-1] for line in marked(mark).values() if "--maker " in line}


def writes(mark: str) -> bool:
    """Whether the writer has begun: its file has a name for a moment before."""
    return any(line.startswith(("dd ", "sleep 1 ")) for line in marked(mark).values())


def wait_until(holds: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.02)


@pytest.fixture
def start(mark: str) -> Iterator[Start]:
    """Runs a command beside noise; kills what is left of it."""
    started = []

    def one(*command: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([SCRIPT, *command], stdin=subprocess.DEVNULL))
        return started[-1]

    yield one
    for running in started:
        running.kill()
        running.wait()


def test_a_loop_a_thief_and_a_writer_run_beside_the_command_and_end_with_it(
    mark: str, start: Start, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    running = start("sh", "-c", f"until [ -e {go} ]; do sleep 0.05; done; exit 7")
    wait_until(lambda: makers(mark) == {"busy", "thief", "writer"}, "no noise")
    cpus = len(os.sched_getaffinity(0))
    wait_until(lambda: sum("--maker " in one for one in marked(mark).values()) == 2 * cpus + 1, "not on each")
    wait_until(lambda: writes(mark), "nothing is written")
    go.touch()
    assert running.wait(PATIENCE_S) == 7
    wait_until(lambda: not marked(mark), f"left behind: {marked(mark)}")  # killed, and a moment later gone
    assert [one.name for one in tmp_path.iterdir()] == ["go"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_the_script_however_it_ends(
    mark: str, start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    running = start(sys.executable, "-c", "import time; time.sleep(600)")
    wait_until(lambda: makers(mark) == {"busy", "thief", "writer"}, "no noise")
    wait_until(lambda: writes(mark), "nothing is written")
    running.send_signal(number)
    assert running.wait(PATIENCE_S) == -number
    wait_until(lambda: not marked(mark), f"left behind: {marked(mark)}")
    assert not list(tmp_path.iterdir())


def test_the_noise_is_bounded_in_time(mark: str, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINDMOST_NOISE_SECONDS", "1")
    running = start("sleep", "600")
    wait_until(lambda: makers(mark), "no noise")
    wait_until(lambda: not makers(mark), "the noise goes on")
    assert running.poll() is None
    running.terminate()
    running.wait(PATIENCE_S)
