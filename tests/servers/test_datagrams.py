"""UDP against real servers: what a lost datagram, a name that is not there, and a server that is gone come to."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from measuring import assert_counts_close, managed, measure, need, running
from namespaces import Elsewhere, elsewhere

LOAD = ("--clients", "1", "--connections", "4", "--rate", "2k", "--duration", "2s", "--timeout", "300ms")
ONCE = ("--runs", "1", "--remake", "0", "--warmup", "0.3s", "--quantiles", "50")


def lose_one_packet_in_a_hundred(there: Elsewhere) -> None:
    # Classic BPF (bpf(4)): load a random number; below 1 % of 2^32 drop (TC_ACT_SHOT), else go on.
    drop = "4,32 0 0 4294963256,53 1 0 42949673,6 0 0 2,6 0 0 4294967295"
    filtered = ("filter", "add", "dev", there.peer, "ingress", "bpf", "da", "bytecode", drop)
    try:
        there.run("tc", "qdisc", "add", "dev", there.peer, "clsact")
        there.run("tc", *filtered)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no lossy link can be made here: {error}")


@pytest.mark.unbound
def test_questions_come_to_what_the_zone_says_and_are_counted_by_type(tmp_path: Path) -> None:
    need("unbound")
    asked = [
        {"name": "www.example", "type": "A", "weight": 2},
        {"name": "www.example", "type": "AAAA"},
        {"name": "h{{int:1..1000}}.example", "type": "A", "called": "absent"},
    ]
    file = tmp_path / "names.json"
    file.write_text(json.dumps({"kind": "dns", "queries": asked}))
    answer = measure("unbound", tmp_path / "study", *LOAD, *ONCE, "--workload", file)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    kinds = {name: kind["counts"] for name, kind in answer.result["by_kind"].items()}
    assert set(kinds) == {"A", "AAAA", "absent"}
    assert kinds["A"]["misses"] == kinds["AAAA"]["misses"] == 0
    assert kinds["absent"]["misses"] == kinds["absent"]["done"] > 0
    run = answer.study.instance()
    assert set(run["kind_codes"]["A"]) == {"NOERROR"}
    assert set(run["kind_codes"]["absent"]) == {"NXDOMAIN"}
    assert answer.result["target"]["server_version"].startswith("unbound")


@pytest.mark.unbound
def test_a_query_file_is_asked_in_its_order(tmp_path: Path) -> None:
    need("unbound")
    queries = tmp_path / "queries.txt"
    queries.write_text("www.example A\nwww.example AAAA ; and so on\nexample. MX\n")
    file = tmp_path / "names.json"
    file.write_text(json.dumps({"kind": "dns", "file": str(queries), "order": "sequential"}))
    answer = measure("unbound", tmp_path / "study", *LOAD, *ONCE, "--workload", file)
    assert answer.code in (0, 4, 6), answer.err
    counts = [kind["counts"]["due"] for kind in answer.result["by_kind"].values()]
    assert len(counts) == 3
    assert max(counts) - min(counts) <= 1, counts


@pytest.mark.memcached
def test_what_a_link_loses_are_timeouts_and_nothing_else(tmp_path: Path) -> None:
    need("memcached")
    with elsewhere() as there:
        lose_one_packet_in_a_hundred(there)
        with there.memcached(udp=True) as target:
            answer = measure(target, tmp_path / "study", *LOAD, *ONCE)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    counts = answer.result["counts"]
    assert counts["errors"] == counts["misses"] == 0, counts
    # Of 4,000 requests, 40 are lost on their way there: five standard deviations of a Poisson count to either side.
    assert counts["timeouts"] > 8, counts
    assert counts["done"] > 0.5 * counts["due"], counts


@pytest.mark.memcached
def test_values_of_several_datagrams_come_back_whole(tmp_path: Path) -> None:
    need("memcached")
    file = tmp_path / "large.json"
    file.write_text(json.dumps({"kind": "key-value", "keys": 100, "value_bytes": 5000, "get_ratio": 0.9}))
    answer = measure("memcached-udp", tmp_path / "study", *LOAD, *ONCE, "--workload", file)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    counts = answer.result["counts"]
    assert (counts["misses"], counts["errors"]) == (0, 0)
    assert counts["done"] > 0.9 * counts["due"], counts


@pytest.mark.unbound
def test_a_port_where_nobody_listens_is_told_before_anything_is_written(tmp_path: Path) -> None:
    need("unbound")
    with running(managed("unbound")) as server:
        address = server.address
    answer = measure(f"dns://{address}/www.example", tmp_path / "study", *LOAD, *ONCE)
    assert answer.code == 1
    assert f"nothing listens on {address} (UDP)" in answer.err
    assert not (tmp_path / "study").exists()


def test_a_proof_by_packets_of_tcp_is_refused_over_udp(tmp_path: Path) -> None:
    answer = measure("dns://127.0.0.1:53/x", tmp_path / "study", "--verify-wire", "--rate", "100")
    answer.assert_one_clear_error(2, "--verify-wire", "UDP")
