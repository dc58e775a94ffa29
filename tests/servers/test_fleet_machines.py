"""Two load machines: a slow link is named (Treadmill, Figure 2), a server restarts, a sweep is distributed."""

from __future__ import annotations

import os
import signal

import pytest
from machines import machines
from measuring import assert_counts_add_up, hindmost, measure, wait_for
from messages import raises

pytest.importorskip("asyncssh", reason="hindmost[fleet] is not installed")
pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from hindmost.commands.clone.batch import WORK, job_of, predictions
from hindmost.commands.clone.document import load_clone
from hindmost.commands.clone.simulation import Design
from hindmost.core.fleet.dask.compute import computing
from hindmost.core.store import Study
from hindmost.errors import ClientError

LOAD = ("--pacing", "sleep", "--sentinel", "off")
SERVER = 'synth?service={"kind": "exponential", "mean_us": 10000}&protocol=http'
"""Slow enough that interference on a busy host adds little in comparison."""
WORKER = "hindmost.core.fleet.dask.worker"
DESIGN = Design(requests=1_000)


def points(count):
    return [{"set": {}, "load": {"utilisation": 0.2 + 0.6 * i / count}} for i in range(count)]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with machines(tmp_path_factory.mktemp("two"), 2) as net:
        yield net


def hosts_with_server(two):
    """A fleet file in which one host has the server."""
    server = f'[[host]]\nname = "server"\naddress = "{two.server.address}"\nclients = 0\n'
    return two.hosts_file(f'{server}\n[target]\nhost = "server"\n')


def test_a_client_behind_a_slow_link_is_named_and_a_server_restarts_on_its_machine(two, tmp_path):
    two.by_name["b"].slow_link("2mbit")  # 20 replies a second, each of which takes about 30 ms
    (tmp_path / "few.json").write_text('{"kind": "key-value", "keys": 50, "value_bytes": 8000}')
    load = ("--workload", tmp_path / "few.json", "--rate", "40", "--connections", "2", "--quantiles", "50")
    load += ("--runs", "5", "--duration", "0.8s", "--warmup", "0.2s", "--fleet", hosts_with_server(two))
    try:
        answer = measure("memcached", tmp_path / "study", *LOAD, *load)
    finally:
        two.by_name["b"].restore_link()
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    codes = ("slow-client", "dominant-client")
    reasons = [reason for reason in answer.result["reasons"] if reason["code"] in codes]
    assert "b" in [reason["values"].get("host") for reason in reasons]
    hosts = {host["host"]: host for host in answer.result["fleet"]["hosts"]}
    assert max(hosts, key=lambda name: hosts[name]["latency_us"]["p50"]) == "b"
    assert max(hosts, key=lambda name: hosts[name]["share_of_slowest"]) == "b"
    targets = [run.record.target for run in Study.open(tmp_path / "study").runs()]
    assert all(target.host == "server" for target in targets)
    assert all(target.address.startswith(two.server.address) for target in targets)
    assert not two.server.commands(), "the server is still running"


@pytest.mark.nightly
def test_a_sweep_on_many_machines_equals_that_on_one_to_the_bit(two):
    command = ("clone", "sweep", "silo", "--vary", "threads=1,2", "--utilisation", "10%..90%:5", "--json")
    command += ("--requests", "2000")
    here, there = hindmost(*command), hindmost(*command, "--fleet", two.hosts_file())
    assert there.code == 0, there.err
    assert there.result["points"] == here.result["points"]


@pytest.mark.nightly
def test_points_of_a_lost_host_are_computed_by_another_and_fail_without_any_host(two):
    clone, notes, killed = load_clone("silo"), [], []

    def kill_first_host(spread):
        """Stop machine a, which gets pieces like the other, and kill it at the other's first result."""

        def spread_and_kill(*arguments):
            two.by_name["a"].kill(WORKER, signal.SIGSTOP)
            for piece in spread(*arguments):
                if not killed:
                    killed.append("a")
                    two.by_name["a"].kill(WORKER)
                yield piece

        return spread_and_kill

    with computing(str(two.hosts_file()), WORK, notes.append) as spread:
        there = predictions(clone, points(400), DESIGN, None, kill_first_host(spread))
        assert there == predictions(clone, points(400), DESIGN)
        assert any(note.code == "host-lost" and note.values["host"] == "a" for note in notes), notes
        pieces = spread(job_of(clone, DESIGN), points(4_000))
        _, first = next(pieces)
        two.by_name["b"].kill(WORKER)
        with raises(ClientError, "no-host-left") as error:
            list(pieces)
        assert first
        assert error.value.fields["of"] == 4_000
    wait_for(lambda: not any(host.commands() for host in two.loads), "no process is left", 30.0)


@pytest.mark.nightly
def test_several_machines_measure_the_same_as_one_process(two, tmp_path):
    load = ("--rate", "80", "--runs", "6", "--duration", "4s", "--quantiles", "50,90", "--stamps", "off")
    hosts = hosts_with_server(two)
    both = f"0-{len(os.sched_getaffinity(0)) - 1}"  # as many threads as on the load machines
    alone = ("--clients", "1", "--server-cpus", both, "--client-cpus", both)
    single = measure(SERVER, tmp_path / "one", *LOAD, *load, *alone)
    many = measure(SERVER, tmp_path / "many", "--fleet", hosts, *LOAD, *load)
    assert many.code in (0, 4, 6), many.err
    for name in ("p50", "p90"):
        here, there = (answer.result["latency_us"][name] for answer in (single, many))
        assert here["low"] <= there["high"], (name, here, there)
        assert there["low"] <= here["high"], (name, here, there)


@pytest.mark.nightly
def test_an_interrupted_sweep_leaves_nothing_on_hosts(two):
    def interrupt():
        with computing(str(two.hosts_file()), WORK) as spread:
            for _ in spread(job_of(load_clone("silo"), DESIGN), points(4_000)):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    # The next worker on a host removes the folder of a killed one.
    wait_for(lambda: not two.leftovers(), "nothing is left behind", 30.0)
