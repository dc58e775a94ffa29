"""A study of factors whose server is on another machine: that machine is set for each run, and is as it was afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from machines import machines
from measuring import finish, hindmost, start, wait_for

pytest.importorskip("asyncssh", reason="hindmost[fleet] is not installed")
pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from hindmost.knobs.journal import FOLDER
from hindmost.store import Study

SETTING = "/proc/sys/net/ipv4/tcp_slow_start_after_idle"
"""A setting that each network namespace has of its own: what is set there is not set here."""
STUDY = """
name = "elsewhere"
target = "memcached"
quantiles = "50"
[measure]
fleet = "{hosts}"
duration = "0.3s"
warmup = "0.2s"
connections = 2
pacing = "sleep"
sentinel = "off"
[[load]]
name = "low"
rate = "500"
[[factor]]
name = "slow_start"
knob = "tcp_idle_slow_start"
levels = ["on", "off"]
[[factor]]
name = "threads"
option = "threads"
levels = ["1", "2"]
{more}
[design]
blocks = 3
[confirm]
skip = true
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with machines(tmp_path_factory.mktemp("two"), 1) as found:
        journal = found.folder / "journal"  # its own, as every machine has
        journal.mkdir(mode=0o755)
        there = ["nsenter", "--mount", "--target", str(found.server.sshd.pid)]
        FOLDER.mkdir(parents=True, exist_ok=True)
        bind = ["mount", "--bind", str(journal), str(FOLDER)]
        if subprocess.run([*there, *bind], check=False).returncode:
            pytest.skip("a machine cannot have a journal of its own here")
        yield found


@pytest.fixture(autouse=True)
def nothing_is_left(two):
    before = Path(SETTING).read_text()
    yield
    as_it_was = lambda: not two.leftovers() and not two.server.commands() and slow_start(two) == "1"  # noqa: E731
    wait_for(as_it_was, "nothing is left, and the server's machine is as it was", 30.0)
    assert Path(SETTING).read_text() == before


def slow_start(two) -> str:
    """What the server's machine has."""
    done = subprocess.run(two.server.inside("cat", SETTING), capture_output=True, text=True, check=True)
    return done.stdout.strip()


def study_file(two, folder: Path, more: str = "", knobs: str = "") -> Path:
    """A study of two factors, one of the machine and one of the server."""
    server = f'[[host]]\nname = "server"\naddress = "{two.server.address}"\nclients = 0\n'
    two.hosts_file(f'{server}\n[target]\nhost = "server"\n{knobs}')
    path = folder / "study.toml"
    path.write_text(STUDY.format(hosts=two.folder / "hosts.toml", more=more))
    return path


@contextmanager
def watched(two):
    """What the setting was, there and here, while something went on."""
    there, here, over = set(), set(), threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            there.add(slow_start(two))
            here.add(Path(SETTING).read_text().strip())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield there, here
    finally:
        over.set()
        thread.join()


@pytest.mark.nightly
def test_factors_of_a_server_elsewhere_are_set_on_its_machine_alone(two, tmp_path):
    with watched(two) as (there, here):
        answer = hindmost("attribute", study_file(two, tmp_path), "--out", tmp_path / "study", "--json")
    assert answer.code in (0, 4, 6), answer.err
    assert there == {"0", "1"}, "set, and put back between cells"
    assert len(here) == 1, "this machine is not the server's"
    cells = {path.parent.name: path for path in (tmp_path / "study").glob("*/*/manifest.json")}
    for name in ("0-0", "0-1", "1-0", "1-1"):
        runs = Study.open(cells[name].parent).runs()
        assert len(runs) >= 3
        for run in runs:
            target = run.record["target"]
            assert target["host"] == "server"
            words = " ".join(target["command"])
            assert f"-t {int(name[-1]) + 1}" in words, words


@pytest.mark.parametrize("how", [pytest.param(signal.SIGINT, marks=pytest.mark.nightly), signal.SIGKILL])
def test_a_controller_that_is_ended_leaves_the_servers_machine_as_it_was(two, how, tmp_path):
    process = start("attribute", study_file(two, tmp_path), "--out", tmp_path / "study")
    wait_for(lambda: slow_start(two) == "0", "the setting is in force", 60.0)
    os.kill(process.pid, how)
    answer = finish(process, tmp_path / "study")
    assert answer.code == (130 if how == signal.SIGINT else -how), answer.err


@pytest.mark.nightly
def test_what_a_killed_worker_left_set_is_put_back_by_the_next_study_and_told(two, tmp_path):
    process = start("attribute", study_file(two, tmp_path), "--out", tmp_path / "study")
    wait_for(lambda: slow_start(two) == "0", "the setting is in force", 60.0)
    two.server.kill("hindmost.fleet.dask.worker")
    os.kill(process.pid, signal.SIGKILL)
    finish(process, tmp_path / "study")
    assert slow_start(two) == "0", "nobody was there to put it back"
    # The next study puts it back, and ends in its rehearsal.
    more = '[[factor]]\nname = "third"\ncpus = true\nlevels = ["free", "4000"]'
    again = hindmost("attribute", study_file(two, tmp_path, more), "--out", tmp_path / "again", "--json")
    assert slow_start(two) == "1"
    assert (again.code, again.result["fields"]["host"]) == (5, "server")


@pytest.mark.nightly
def test_a_trial_of_a_knob_sets_the_servers_machine(two, tmp_path):
    study_file(two, tmp_path)
    words = (
        "--set",
        "tcp_idle_slow_start=on,off",
        "--pairs",
        "6",
        "--rate",
        "500",
    )
    more = (
        "--fleet",
        two.folder / "hosts.toml",
        "--duration",
        "0.3s",
        "--warmup",
        "0.2s",
        "--pacing",
        "sleep",
        "--sentinel",
        "off",
    )
    with watched(two) as (there, here):
        answer = hindmost("compare", "memcached", *words, *more, "--out", tmp_path / "study")
    assert answer.code in (0, 4, 6), answer.err
    assert there == {"0", "1"}
    assert len(here) == 1
