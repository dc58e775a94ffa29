"""A slow client is found and named (Treadmill, Figure 2); four machines say what one process says; a server restarts."""

from __future__ import annotations

import os

import pytest
from machines import machines
from measuring import assert_counts_close, hindmost, measure

pytest.importorskip("asyncssh", reason="hindmost[fleet] is not installed")
pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from hindmost.store import Study

LOAD = ("--pacing", "sleep", "--sentinel", "off")
SERVER = 'synth?service={"kind": "exponential", "mean_us": 10000}&protocol=http'
"""Slow enough that what a busy host adds is little beside it."""


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    with machines(tmp_path_factory.mktemp("four"), 4) as found:
        yield found


@pytest.fixture(scope="module")
def url(four):
    with four.memcached() as found:
        yield found


def test_a_client_behind_a_slow_link_is_named_and_owns_the_tail(four, url, tmp_path):
    four.by_name["c"].slow("230kbit")  # nine tenths of what its replies need
    try:
        answer = measure(
            url,
            tmp_path / "study",
            "--fleet",
            four.hosts_file(),
            *LOAD,
            "--rate",
            "400",
            "--runs",
            "10",  # its latency varies by a factor of two from run to run, on a busy host
            "--duration",
            "1s",
            "--warmup",
            "0.5s",
        )
    finally:
        four.by_name["c"].unhindered()
    assert answer.code in (0, 4, 6), answer.err
    said = {one["code"]: one["text"] for one in answer.result["reasons"]}
    assert "on host c" in said.get("slow-client", "") + said.get("dominant-client", ""), said
    hosts = {one["host"]: one for one in answer.result["fleet"]["hosts"]}
    assert max(hosts, key=lambda name: hosts[name]["latency_us"]["p50"]) == "c"
    assert max(hosts, key=lambda name: hosts[name]["share_of_slowest"]) == "c"


def test_delay_and_loss_on_the_way_to_one_machine_show_in_its_figures_and_cost_no_request(
    four, url, tmp_path
):
    four.by_name["b"].distant("20ms", "1%")
    try:
        answer = measure(
            url,
            tmp_path / "study",
            "--fleet",
            four.hosts_file(),
            *LOAD,
            "--rate",
            "400",
            "--runs",
            "2",
            "--duration",
            "1s",
            "--warmup",
            "0.5s",
            "--timeout",
            "10s",  # TCP sends what was lost again, after 200 ms at the earliest
        )
    finally:
        four.by_name["b"].unhindered()
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    assert answer.result["counts"]["errors"] == 0
    hosts = {one["host"]: one["latency_us"]["p50"] for one in answer.result["fleet"]["hosts"]}
    assert hosts["b"] > 20_000, hosts
    assert max(hosts, key=lambda name: hosts[name]) == "b"


def test_a_server_is_restarted_on_its_own_machine_for_each_run(four, tmp_path):
    server = f'[[host]]\nname = "server"\naddress = "{four.server.address}"\nclients = 0\n'
    hosts = four.hosts_file(f'{server}\n[target]\nhost = "server"\n')
    answer = measure("memcached", tmp_path / "study", "--fleet", hosts, *LOAD, "--rate", "1k")
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    places = [run.record["target"] for run in Study.open(tmp_path / "study").runs()]
    assert all(one["host"] == "server" for one in places)
    assert all(one["address"].startswith(four.server.address) for one in places)
    assert not [line for line in four.server.commands().values() if "-p 11311" not in line], "it was left"


def test_a_command_from_the_network_starts_no_server(four, tmp_path):
    spec = tmp_path / "own.toml"
    spec.write_text('name = "own"\nprotocol = "memcached"\ncommand = ["touch", "{address}"]\n')
    server = f'[[host]]\nname = "server"\naddress = "{four.server.address}"\nclients = 0\n'
    hosts = four.hosts_file(f'{server}\n[target]\nhost = "server"\n')
    answer = measure(str(spec), tmp_path / "study", "--fleet", hosts, *LOAD, "--rate", "1k")
    answer.assert_one_clear_error(1, "host server", "is a path", "/etc/hindmost/targets")


@pytest.mark.nightly
def test_four_machines_say_what_one_process_says(four, tmp_path):
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
    server = f'[[host]]\nname = "server"\naddress = "{four.server.address}"\nclients = 0\n'
    hosts = four.hosts_file(f'{server}\n[target]\nhost = "server"\n')
    both = f"0-{len(os.sched_getaffinity(0)) - 1}"  # as many threads as it has elsewhere
    alone = ("--clients", "1", "--server-cpus", both, "--client-cpus", both)
    one = measure(SERVER, tmp_path / "one", *words, *alone)
    many = measure(SERVER, tmp_path / "many", "--fleet", hosts, *words)
    assert many.code in (0, 4, 6), many.err
    for name in ("p50", "p90"):
        here, there = (answer.result["latency_us"][name] for answer in (one, many))
        assert here["low"] <= there["high"], (name, here, there)
        assert there["low"] <= here["high"], (name, here, there)


def test_a_sweep_on_many_machines_is_that_of_one_to_the_bit(four):
    asked = ("synth", "sweep", "silo", "--vary", "threads=1,2,3,4", "--utilisation", "10%..90%:10", "--json")
    asked = (*asked, "--requests", "2000")
    here, there = hindmost(*asked), hindmost(*asked, "--fleet", four.hosts_file())
    assert there.code == 0, there.err
    assert there.result["points"] == here.result["points"]
