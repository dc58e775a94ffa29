"""A study of factors whose server is on another machine: only that machine is changed, and it is restored afterwards."""

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
from hindmost.core.knobs.journal import FOLDER
from hindmost.core.store import Study

SETTING = "/proc/sys/net/ipv4/tcp_slow_start_after_idle"
"""A setting of each network namespace, so that the server's machine can differ from this one."""
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
    with machines(tmp_path_factory.mktemp("two"), 1) as net:
        journal = net.folder / "journal"  # each machine has its own journal
        journal.mkdir(mode=0o755)
        there = ["nsenter", "--mount", "--target", str(net.server.sshd.pid)]
        FOLDER.mkdir(parents=True, exist_ok=True)
        bind = ["mount", "--bind", str(journal), str(FOLDER)]
        if subprocess.run([*there, *bind], check=False).returncode:
            pytest.skip("a machine cannot have its own journal here")
        yield net


@pytest.fixture(autouse=True)
def assert_restored(two):
    before = Path(SETTING).read_text()
    yield

    def is_restored() -> bool:
        return not two.leftovers() and not two.server.commands() and slow_start(two) == "1"

    wait_for(is_restored, "nothing is left behind, and the server's machine is restored", 30.0)
    assert Path(SETTING).read_text() == before


def slow_start(two) -> str:
    """The setting on the server's machine."""
    done = subprocess.run(two.server.inside("cat", SETTING), capture_output=True, text=True, check=True)
    return done.stdout.strip()


def study_file(two, folder: Path, extra: str = "", knobs: str = "") -> Path:
    """A study of two factors, one of the machine and one of the server."""
    server = f'[[host]]\nname = "server"\naddress = "{two.server.address}"\nclients = 0\n'
    two.hosts_file(f'{server}\n[target]\nhost = "server"\n{knobs}')
    path = folder / "study.toml"
    path.write_text(STUDY.format(hosts=two.folder / "hosts.toml", more=extra))
    return path


@contextmanager
def record_setting(two):
    """Collect the values of the setting on the server's machine and on this one."""
    there, here, done = set(), set(), threading.Event()

    def poll() -> None:
        while not done.wait(0.05):
            there.add(slow_start(two))
            here.add(Path(SETTING).read_text().strip())

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield there, here
    finally:
        done.set()
        thread.join()


@pytest.mark.nightly
def test_factors_of_a_remote_server_are_set_on_its_machine_alone(two, tmp_path):
    with record_setting(two) as (there, here):
        answer = hindmost("attribute", study_file(two, tmp_path), "--out", tmp_path / "study", "--json")
    assert answer.code in (0, 4, 6), answer.err
    assert there == {"0", "1"}, "set, and restored between cells"
    assert len(here) == 1, "this machine is not changed"
    cells = {path.parent.name: path for path in (tmp_path / "study").glob("*/*/manifest.json")}
    for name in ("0-0", "0-1", "1-0", "1-1"):
        runs = Study.open(cells[name].parent).runs()
        assert len(runs) >= 3
        for run in runs:
            target = run.record.target
            assert target.host == "server"
            command = " ".join(target.command)
            assert f"-t {int(name[-1]) + 1}" in command, command


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.nightly), signal.SIGKILL])
def test_a_controller_that_is_ended_restores_the_servers_machine(two, number, tmp_path):
    process = start("attribute", study_file(two, tmp_path), "--out", tmp_path / "study")
    wait_for(lambda: slow_start(two) == "0", "the setting is in force", 60.0)
    os.kill(process.pid, number)
    answer = finish(process, tmp_path / "study")
    assert answer.code == (130 if number == signal.SIGINT else -number), answer.err


@pytest.mark.nightly
def test_a_change_that_a_killed_worker_left_is_undone_by_the_next_study(two, tmp_path):
    process = start("attribute", study_file(two, tmp_path), "--out", tmp_path / "study")
    wait_for(lambda: slow_start(two) == "0", "the setting is in force", 60.0)
    two.server.kill("hindmost.core.fleet.dask.worker")
    os.kill(process.pid, signal.SIGKILL)
    finish(process, tmp_path / "study")
    assert slow_start(two) == "0", "no process is left to undo the change"
    # The next study undoes it, and fails in its rehearsal.
    third = '[[factor]]\nname = "third"\ncpus = true\nlevels = ["free", "4000"]'
    answer = hindmost("attribute", study_file(two, tmp_path, third), "--out", tmp_path / "again", "--json")
    assert slow_start(two) == "1"
    assert (answer.code, answer.result["fields"]["host"]) == (5, "server")


@pytest.mark.nightly
def test_a_trial_of_a_knob_sets_the_servers_machine(two, tmp_path):
    study_file(two, tmp_path)
    trial = ("--set", "tcp_idle_slow_start=on,off", "--pairs", "6", "--rate", "500")
    procedure = ("--fleet", two.folder / "hosts.toml", "--duration", "0.3s", "--warmup", "0.2s")
    clients = ("--pacing", "sleep", "--sentinel", "off")
    with record_setting(two) as (there, here):
        answer = hindmost("compare", "memcached", *trial, *procedure, *clients, "--out", tmp_path / "study")
    assert answer.code in (0, 4, 6), answer.err
    assert there == {"0", "1"}
    assert len(here) == 1
