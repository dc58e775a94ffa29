"""UDP against real servers: lost datagrams, names that do not exist, and large values."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from measuring import assert_counts_add_up, measure, need
from namespaces import Namespace, other_namespace

LOAD = ("--clients", "1", "--connections", "4", "--rate", "2k", "--duration", "1s", "--timeout", "300ms")
ONCE = ("--runs", "1", "--remake", "0", "--warmup", "0.3s", "--quantiles", "50")


def lose_one_packet_in_a_hundred(space: Namespace) -> None:
    # Classic BPF (bpf(4)): load a random number; below 1 % of 2^32 drop (TC_ACT_SHOT), else go on.
    drop = "4,32 0 0 4294963256,53 1 0 42949673,6 0 0 2,6 0 0 4294967295"
    loss = ("filter", "add", "dev", space.peer, "ingress", "bpf", "da", "bytecode", drop)
    try:
        space.run("tc", "qdisc", "add", "dev", space.peer, "clsact")
        space.run("tc", *loss)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no lossy link can be made here: {error}")


@pytest.mark.nightly  # a row of the matrix covers the same
@pytest.mark.unbound
def test_answers_match_the_zone_and_are_counted_by_type(tmp_path: Path) -> None:
    need("unbound")
    queries = [
        {"name": "www.example", "type": "A", "weight": 2},
        {"name": "www.example", "type": "AAAA"},
        {"name": "h{{int:1..1000}}.example", "type": "A", "called": "absent"},
    ]
    file = tmp_path / "names.json"
    file.write_text(json.dumps({"kind": "dns", "queries": queries}))
    answer = measure("unbound", tmp_path / "study", *LOAD, *ONCE, "--workload", file)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    kinds = {name: kind["counts"] for name, kind in answer.result["by_kind"].items()}
    assert set(kinds) == {"A", "AAAA", "absent"}
    assert kinds["A"]["misses"] == kinds["AAAA"]["misses"] == 0
    assert kinds["absent"]["misses"] == kinds["absent"]["completed"] > 0
    run = answer.study.client()
    assert set(run["kind_codes"]["A"]) == {"NOERROR"}
    assert set(run["kind_codes"]["absent"]) == {"NXDOMAIN"}
    assert answer.result["target"]["server_version"].startswith("unbound")


@pytest.mark.memcached
def test_packet_loss_shows_as_timeouts_of_udp_and_retransmissions_of_tcp(tmp_path: Path) -> None:
    need("memcached")
    with other_namespace() as space:
        lose_one_packet_in_a_hundred(space)
        with space.memcached(udp=True) as target:
            answer = measure(target, tmp_path / "study", *LOAD, *ONCE)
            stream = target.replace("memcached-udp", "memcached")
            tcp = measure(stream, tmp_path / "stream", *LOAD, *ONCE)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    counts = answer.result["counts"]
    assert counts["errors"] == counts["misses"] == 0, counts
    # 20 of 2,000 requests are lost on average; the chance of none is e^-20.
    assert counts["timeouts"] > 0, counts
    assert counts["completed"] > 0.5 * counts["scheduled"], counts

    assert tcp.code in (0, 4, 6), tcp.err
    assert "retransmissions" in {reason["code"] for reason in tcp.result["reasons"]}
    figures = {figure["id"]: figure["value"] for figure in tcp.result["instrument"]["figures"]}
    assert figures["retransmitted"] > 0
    run = tcp.study.client()
    assert 0 < run["threads"][0]["sockets"]["retransmits"] <= run["tcp"]["retransmits"]


@pytest.mark.nightly  # the engine's own tests assemble such replies; the matrix has a row for UDP
@pytest.mark.memcached
def test_values_of_several_datagrams_come_back_whole(tmp_path: Path) -> None:
    need("memcached")
    file = tmp_path / "large.json"
    file.write_text(json.dumps({"kind": "key-value", "keys": 100, "value_bytes": 5000, "get_ratio": 0.9}))
    answer = measure("memcached-udp", tmp_path / "study", *LOAD, *ONCE, "--workload", file)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    counts = answer.result["counts"]
    assert (counts["misses"], counts["errors"]) == (0, 0)
    assert counts["completed"] > 0.9 * counts["scheduled"], counts
