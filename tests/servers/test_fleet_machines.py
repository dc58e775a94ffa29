"""Two load machines: a slow link is found and named (Treadmill, Figure 2), a server restarts, a sweep is shared out."""

from __future__ import annotations

import os
import signal

import pytest
from machines import machines
from measuring import assert_counts_add_up, hindmost, measure, wait_for
from messages import raises

pytest.importorskip("asyncssh", reason="hindmost[fleet] is not installed")
pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from hindmost.errors import ClientError
from hindmost.fleet.dask.compute import computing
from hindmost.models import load_clone
from hindmost.models.batch import WORK, job_of, predictions
from hindmost.models.simulation import Design
from hindmost.store import Study

LOAD = ("--pacing", "sleep", "--sentinel", "off")
SERVER = 'synth?service={"kind": "exponential", "mean_us": 10000}&protocol=http'
"""Slow enough that what a busy host adds is little beside it."""
WORKER = "hindmost.fleet.dask.worker"
DESIGN = Design(requests=1_000)


def points(count):
    return [{"set": {}, "load": {"utilisation": 0.2 + 0.6 * i / count}} for i in range(count)]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with machines(tmp_path_factory.mktemp("two"), 2) as found:
        yield found


def on_its_machine(two):
    """Hosts, of which one has the server."""
    server = f'[[host]]\nname = "server"\naddress = "{two.server.address}"\nclients = 0\n'
    return two.hosts_file(f'{server}\n[target]\nhost = "server"\n')


def test_a_client_behind_a_slow_link_is_named_and_a_server_restarts_on_its_machine(two, tmp_path):
    two.by_name["b"].slow_link("2mbit")  # a reply takes it some 30 ms, of which there are 20 a second
    (tmp_path / "few.json").write_text('{"kind": "key-value", "keys": 50, "value_bytes": 8000}')
    words = ("--workload", tmp_path / "few.json", "--rate", "40", "--connections", "2", "--quantiles", "50")
    words += ("--runs", "5", "--duration", "0.8s", "--warmup", "0.2s", "--fleet", on_its_machine(two))
    try:
        answer = measure("memcached", tmp_path / "study", *LOAD, *words)
    finally:
        two.by_name["b"].restore_link()
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    named = [one for one in answer.result["reasons"] if one["code"] in ("slow-client", "dominant-client")]
    assert "b" in [one["values"].get("host") for one in named]
    hosts = {one["host"]: one for one in answer.result["fleet"]["hosts"]}
    assert max(hosts, key=lambda name: hosts[name]["latency_us"]["p50"]) == "b"
    assert max(hosts, key=lambda name: hosts[name]["share_of_slowest"]) == "b"
    places = [run.record["target"] for run in Study.open(tmp_path / "study").runs()]
    assert all(one["host"] == "server" for one in places)
    assert all(one["address"].startswith(two.server.address) for one in places)
    assert not two.server.commands(), "it was left"


@pytest.mark.nightly
def test_a_sweep_on_many_machines_is_that_of_one_to_the_bit(two):
    asked = ("clone", "sweep", "silo", "--vary", "threads=1,2", "--utilisation", "10%..90%:5", "--json")
    asked = (*asked, "--requests", "2000")
    here, there = hindmost(*asked), hindmost(*asked, "--fleet", two.hosts_file())
    assert there.code == 0, there.err
    assert there.result["points"] == here.result["points"]


@pytest.mark.nightly
def test_a_lost_hosts_points_are_asked_of_another_and_without_any_host_there_is_no_answer(two):
    clone, said, killed = load_clone("silo"), [], []

    def killing(spread):
        """Machine a, which is asked for pieces as the other is, stands still, and dies at the other's first."""

        def until_then(*of):
            two.by_name["a"].kill(WORKER, signal.SIGSTOP)
            for piece in spread(*of):
                if not killed:
                    killed.append("a")
                    two.by_name["a"].kill(WORKER)
                yield piece

        return until_then

    with computing(str(two.hosts_file()), WORK, said.append) as spread:
        there = predictions(clone, points(400), DESIGN, None, killing(spread))
        assert there == predictions(clone, points(400), DESIGN)
        assert any(note.code == "host-lost" and note.values["host"] == "a" for note in said), said
        pieces = spread(job_of(clone, DESIGN), points(4_000))
        _, first = next(pieces)
        two.by_name["b"].kill(WORKER)
        with raises(ClientError, "no-host-left") as caught:
            list(pieces)
        assert first
        assert caught.value.fields["of"] == 4_000
    wait_for(lambda: not any(one.commands() for one in two.loads), "no process is left", 30.0)


@pytest.mark.nightly
def test_several_machines_say_what_one_process_says(two, tmp_path):
    words = (
        *LOAD,
        "--rate",
        "80",
        "--runs",
        "6",
        "--duration",
        "4s",
        "--quantiles",
        "50,90",
        "--stamps",
        "off",
    )
    hosts = on_its_machine(two)
    both = f"0-{len(os.sched_getaffinity(0)) - 1}"  # as many threads as it has elsewhere
    alone = ("--clients", "1", "--server-cpus", both, "--client-cpus", both)
    one = measure(SERVER, tmp_path / "one", *words, *alone)
    many = measure(SERVER, tmp_path / "many", "--fleet", hosts, *words)
    assert many.code in (0, 4, 6), many.err
    for name in ("p50", "p90"):
        here, there = (answer.result["latency_us"][name] for answer in (one, many))
        assert here["low"] <= there["high"], (name, here, there)
        assert there["low"] <= here["high"], (name, here, there)


@pytest.mark.nightly
def test_a_sweep_that_is_interrupted_leaves_nothing_on_hosts(two):
    def interrupted():
        with computing(str(two.hosts_file()), WORK) as spread:
            for _ in spread(job_of(load_clone("silo"), DESIGN), points(4_000)):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    # The folder of a worker that was killed goes when another begins there.
    wait_for(lambda: not two.leftovers(), "nothing is left", 30.0)
