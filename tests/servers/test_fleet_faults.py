"""Faults of load machines are reported with the host's name, void the run, and leave nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from machines import ROOT, machines
from measuring import finish, start, wait_for
from messages import raises

pytest.importorskip("asyncssh", reason="hindmost[fleet] is not installed")
pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from hindmost.core.store import Study

LOAD = ("--rate", "1k", "--pacing", "sleep", "--sentinel", "off")
WORKER = "hindmost.core.fleet.dask.worker"


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with machines(tmp_path_factory.mktemp("two"), 2) as net:
        yield net


@pytest.fixture(scope="module")
def url(two):
    with two.memcached() as target_url:
        yield target_url


@pytest.fixture(autouse=True)
def assert_nothing_left(two):
    yield
    wait_for(lambda: not two.leftovers(), f"nothing is left behind: {two.leftovers()}", 30.0)


def start_study(two, url, out, *options):
    """Start a study, and wait until its first run measures on both machines."""
    arguments = ("--json", "--out", out, "--fleet", two.hosts_file(), *LOAD)
    arguments += ("--duration", "3s", "--warmup", "0.3s", "--runs", "1")
    process = start("measure", url, *arguments, *options)
    wait_for(
        lambda: all(any("client" in c for c in host.commands().values()) for host in two.loads), "clients"
    )
    time.sleep(1.0)  # some of its measurement
    return process


def test_a_run_whose_host_dies_is_voided_and_repeated(two, url, tmp_path):
    out = tmp_path / "study"
    process = start_study(two, url, out)
    two.by_name["a"].kill(WORKER)
    answer = finish(process, out)
    assert answer.code in (0, 4, 6), answer.err
    (run,) = Study.open(out).runs()
    assert len(run.record.voided) == 1
    assert [reason["code"] for reason in answer.result["reasons"]].count("host-lost") == 1
    assert [entry["run"] for entry in answer.result["fleet"]["voided"]] == [1]


@pytest.mark.nightly
def test_a_host_that_stays_away_ends_the_study_and_is_named(two, url, tmp_path):
    out = tmp_path / "study"
    process = start_study(two, url, out)
    machine = two.by_name["b"]
    machine.end()
    try:
        answer = finish(process, out)
        answer.assert_error(1, "host-unreachable", host="b")
    finally:
        machine.start_sshd(two.folder)
        wait_for(machine.sshd_answers, "sshd is back")
        for path in (two.folder / "tmp").glob("hindmost-*"):  # as after a power failure
            shutil.rmtree(path)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.nightly), signal.SIGKILL])
def test_a_controller_that_is_ended_leaves_nothing_on_any_machine(two, url, number, tmp_path):
    process = start_study(two, url, tmp_path / "study")
    os.kill(process.pid, number)
    answer = finish(process, tmp_path / "study")
    assert answer.code == (130 if number == signal.SIGINT else -number), answer.err
    wait_for(lambda: not two.leftovers(), "workers, clients and folders are gone", 30.0)


def test_a_host_that_cannot_begin_is_named_with_the_wrong_setting(two, tmp_path):
    from hindmost.core.fleet.dask.channel import OwnChannel
    from hindmost.core.fleet.dask.hosts import parse_fleet
    from hindmost.errors import ClientError

    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "stranger")]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    (tmp_path / "no-key").write_text("a shopping list\n")
    (tmp_path / "none-known").write_text("")
    for setting, code, fields in (
        (f'key = "{tmp_path / "stranger"}"', "host-login", {"path": str(tmp_path / "stranger")}),
        ('user = "nobody-there"', "host-login", {"user": "nobody-there"}),
        ('key = "/nowhere/key"', "unreadable-file", {"path": "/nowhere/key"}),
        (f'key = "{tmp_path / "no-key"}"', "login-key", {"path": str(tmp_path / "no-key")}),
        (f'known_hosts = "{tmp_path / "none-known"}"', "host-key", {"path": str(tmp_path / "none-known")}),
        ("port = 1", "host-unreachable", {"address": two.by_name["a"].address}),
        ('python = "/usr/bin/python3"', "missing-hindmost", {}),
    ):
        text = two.hosts_file(a=f"ssh = {{ {setting} }}").read_text()
        (tmp_path / "hosts.toml").write_text(text[: text.rindex("[[host]]")])  # only host a
        with raises(ClientError, code, host="a", **fields):
            OwnChannel(parse_fleet(str(tmp_path / "hosts.toml"))).close()


@contextmanager
def scheduler(*names: str, **settings: str):
    """A scheduler of another user on this machine, with workers of these names; `settings` are Dask's variables."""
    dask = [sys.executable, "-m"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **settings}
    popen_options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": env}
    place = Path("/tmp") / f"hindmost-scheduler-{os.getpid()}"
    place.unlink(missing_ok=True)
    scheme = "tls" if settings else "tcp"
    options = [
        "--host",
        f"{scheme}://127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(place),
    ]
    processes = [subprocess.Popen([*dask, "distributed.cli.dask_scheduler", *options], **popen_options)]
    try:
        wait_for(lambda: place.exists() and place.stat().st_size, "the scheduler")
        address = json.loads(place.read_text())["address"]
        for name in names:
            options = [address, "--nthreads", "1", "--no-nanny", "--name", name, "--no-dashboard"]
            processes.append(
                subprocess.Popen([*dask, "distributed.cli.dask_worker", *options], **popen_options)
            )
        yield address, processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()
        place.unlink(missing_ok=True)


def count_workers(address: str, security=None) -> int:
    from distributed import Client

    with Client(address, timeout=20, security=security) as client:
        return len(client.scheduler_info(n_workers=-1)["workers"])


@pytest.mark.nightly
def test_workers_of_a_scheduler_measure_in_silence_and_a_lost_one_is_named(url, tmp_path):
    out = tmp_path / "study"
    with scheduler("north", "south") as (address, workers):
        wait_for(lambda: count_workers(address) == 2, "both workers")
        arguments = ("--json", "--out", out, "--fleet", address, *LOAD, "--duration", "1s", "--runs", "100")
        process = start("measure", url, *arguments, "--warmup", "0.3s")
        wait_for(lambda: list(out.glob("runs/0001/run.json")), "a finished run")
        workers[0].kill()
        finish(process, out).assert_error(1, "host-lost", host="north")
    hosts = Study.open(out).runs()[0].record.fleet
    assert {host.host for host in hosts} == {"north", "south"}
    # Nearly nothing: on a busy host, messages from before the measurement may arrive late.
    assert all(host.channel.bytes < 1_000 for host in hosts), hosts


@pytest.mark.nightly
def test_a_missing_scheduler_and_a_scheduler_without_workers_are_reported(tmp_path, monkeypatch):
    from hindmost.core.fleet.dask.certificates import credentials
    from hindmost.core.fleet.dask.hosts import parse_fleet
    from hindmost.core.fleet.dask.scheduler import SchedulerChannel
    from hindmost.errors import HostLost, UsageError

    with raises(UsageError, "no-scheduler", address="tcp://127.0.0.1:1"):
        SchedulerChannel(parse_fleet("tcp://127.0.0.1:1"))
    # Files that only root can read: the broker reads them before it becomes another user.
    (ours,) = credentials(["all"])
    settings = {}
    for name, text in (("CA_FILE", ours.authority), ("CERT", ours.certificate), ("KEY", ours.key)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
        for role in ("",) if name == "CA_FILE" else ("SCHEDULER__", "WORKER__", "CLIENT__"):
            settings[f"DASK_DISTRIBUTED__COMM__TLS__{role}{name}"] = str(tmp_path / name)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    # By default, the scheduler tries for half a minute to reach a worker that is gone.
    settings["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = "0.5s"
    with scheduler("north", **settings) as (address, (worker,)):
        assert address.startswith("tls://")
        wait_for(lambda: count_workers(address, ours.security()) == 1, "the worker")
        channel = SchedulerChannel(parse_fleet(address))
        try:
            assert channel.ask("north", {"hello": {}}).said.version
            worker.send_signal(signal.SIGSTOP)
            with raises(HostLost, "host-lost", host="north"):
                channel.ask("north", {"hello": {}}, patience_s=0.3)
            worker.send_signal(signal.SIGCONT)
            assert channel.ask("north", {"hello": {}}).said.version, "a late worker is not lost"
            worker.kill()
            wait_for(lambda: count_workers(address, ours.security()) == 0, "the scheduler notices the end")
            for _ in range(2):
                with raises(HostLost, "host-lost", host="north"):
                    channel.ask("north", {"hello": {}})
            assert channel._lost == {"north"}, "a lost worker is not waited for"
        finally:
            channel.close()
        with raises(UsageError, "no-workers", address=address):
            SchedulerChannel(parse_fleet(address))
