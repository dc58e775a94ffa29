"""Three load machines: a slow link is found and named (Treadmill, Figure 2), a server restarts, a sweep is shared out."""

from __future__ import annotations

import os
import signal

import pytest
from machines import machines
from measuring import assert_counts_close, hindmost, measure, wait_for
from messages import raises

pytest.importorskip("asyncssh", reason="hindmost[fleet] is not installed")
pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from hindmost.errors import InstanceError
from hindmost.fleet.dask import batch
from hindmost.fleet.dask.compute import computing
from hindmost.models import load_clone
from hindmost.models.batch import predicted, predictions
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
def three(tmp_path_factory):
    with machines(tmp_path_factory.mktemp("three"), 3) as found:
        yield found


def test_a_client_behind_a_slow_link_is_named_and_owns_the_tail(three, tmp_path):
    three.by_name["c"].slow("2mbit")  # a reply takes it some 30 ms, of which there are 20 a second
    (tmp_path / "few.json").write_text('{"kind": "key-value", "keys": 50, "value_bytes": 8000}')
    words = ("--workload", tmp_path / "few.json", "--rate", "60", "--connections", "3", "--quantiles", "50")
    words += ("--runs", "5", "--duration", "0.8s", "--warmup", "0.2s")
    try:
        with three.memcached() as url:
            answer = measure(url, tmp_path / "study", "--fleet", three.hosts_file(), *LOAD, *words)
    finally:
        three.by_name["c"].unhindered()
    assert answer.code in (0, 4, 6), answer.err
    named = [one for one in answer.result["reasons"] if one["code"] in ("slow-client", "dominant-client")]
    assert "c" in [one["values"].get("host") for one in named]
    hosts = {one["host"]: one for one in answer.result["fleet"]["hosts"]}
    assert max(hosts, key=lambda name: hosts[name]["latency_us"]["p50"]) == "c"
    assert max(hosts, key=lambda name: hosts[name]["share_of_slowest"]) == "c"


def test_a_server_is_restarted_on_its_own_machine_for_each_run(three, tmp_path):
    server = f'[[host]]\nname = "server"\naddress = "{three.server.address}"\nclients = 0\n'
    hosts = three.hosts_file(f'{server}\n[target]\nhost = "server"\n')
    answer = measure("memcached", tmp_path / "study", "--fleet", hosts, *LOAD, "--rate", "1k")
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    places = [run.record["target"] for run in Study.open(tmp_path / "study").runs()]
    assert all(one["host"] == "server" for one in places)
    assert all(one["address"].startswith(three.server.address) for one in places)
    assert not [line for line in three.server.commands().values() if "-p 11311" not in line], "it was left"


def test_a_sweep_on_many_machines_is_that_of_one_to_the_bit(three):
    asked = ("synth", "sweep", "silo", "--vary", "threads=1,2,3,4", "--utilisation", "10%..90%:10", "--json")
    asked = (*asked, "--requests", "2000")
    here, there = hindmost(*asked), hindmost(*asked, "--fleet", three.hosts_file())
    assert there.code == 0, there.err
    assert there.result["points"] == here.result["points"]


def test_a_lost_hosts_points_are_asked_of_another_and_without_any_host_there_is_no_answer(three, monkeypatch):
    clone, said, killed = load_clone("silo"), [], []
    ask = batch.Batch._ask

    def stopping(*of):
        """Machine a, which is asked for pieces as the others are, stands still from the first on."""
        three.by_name["a"].kill(WORKER, signal.SIGSTOP)
        ask(*of)

    def killing(spread):
        """It dies when the first piece of another is there."""

        def until_then(*of):
            for piece in spread(*of):
                if not killed:
                    killed.append("a")
                    three.by_name["a"].kill(WORKER)
                yield piece

        return until_then

    monkeypatch.setattr(batch.Batch, "_ask", stopping)
    with computing(str(three.hosts_file()), said.append) as spread:
        there = predictions(clone, points(400), DESIGN, None, killing(spread))
        assert there == predictions(clone, points(400), DESIGN)
        assert any(note.code == "host-lost" and note.values["host"] == "a" for note in said), said
        monkeypatch.undo()
        pieces = spread(predicted, (clone, DESIGN), points(4_000))
        _, first = next(pieces)
        for name in "bc":
            three.by_name[name].kill(WORKER)
        with raises(InstanceError, "no-host-left") as caught:
            list(pieces)
        assert first
        assert caught.value.fields["of"] == 4_000
    wait_for(lambda: not any(one.commands() for one in three.loads), "no process is left", 30.0)


@pytest.mark.nightly
def test_several_machines_say_what_one_process_says(three, tmp_path):
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
    server = f'[[host]]\nname = "server"\naddress = "{three.server.address}"\nclients = 0\n'
    hosts = three.hosts_file(f'{server}\n[target]\nhost = "server"\n')
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
def test_a_sweep_that_is_interrupted_leaves_nothing_on_hosts(three):
    def interrupted():
        with computing(str(three.hosts_file())) as spread:
            for _ in spread(predicted, (load_clone("silo"), DESIGN), points(4_000)):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    # The folder of a worker that was killed goes when another begins there.
    wait_for(lambda: not three.left(), "nothing is left", 30.0)
