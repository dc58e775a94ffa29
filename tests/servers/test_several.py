"""Several servers at once: figures of each, and keys distributed as twemproxy does."""

from __future__ import annotations

import json
import re
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from measuring import ProcessTracker, assert_counts_add_up, measure, need, run_server

from hindmost.core.targets import load_target_file

FEW = (
    "--clients",
    "1",
    "--connections",
    "6",
    "--rate",
    "400",
    "--timeout",
    "1s",
    "--runs",
    "1",
    "--duration",
    "0.4s",
)
NAMES = [f"user:{number}:{'x' * (number % 7)}" for number in range(300)]
MIX = {"key_names": NAMES, "get_ratio": 1.0, "value_bytes": 10}
PROXY = """
name = "proxy"
protocol = "memcached"
command = ["nutcracker", "-c", "{dir}/pool.yml", "-a", "127.0.0.2", "-s", "{port}", "-p", "{dir}/pid"]
package = "nutcracker"
[stop]
signal = "KILL"
[files]
"pool.yml" = '''
pool:
  listen: {address}
  hash: md5
  distribution: ketama
  preconnect: true
  servers:
SERVERS'''
"""
"""twemproxy in front of the servers in SERVERS."""


def stored_keys(address: str, names: list[str]) -> list[str]:
    """The keys for which a memcached, or a proxy, has a value."""
    host, port = address.rsplit(":", 1)
    keys = []
    with socket.create_connection((host, int(port)), timeout=30.0) as connection:
        for name in names:
            connection.sendall(f"get {name}\r\n".encode())
            reply = b""
            while not reply.endswith(b"END\r\n"):
                part = connection.recv(1 << 16)
                assert part, "the server closed the connection"
                reply += part
            keys += re.findall(r"VALUE (\S+)", reply.decode())
    return keys


@pytest.mark.memcached
def test_each_server_has_figures_and_stores_the_keys_that_twemproxy_expects(
    tmp_path: Path, process_tracker: ProcessTracker
) -> None:
    spec = need("memcached")
    need("nutcracker")
    (tmp_path / "mix.json").write_text(json.dumps(MIX | {"clean_up": False}))
    with ExitStack() as stack:
        addresses = [stack.enter_context(run_server(spec)).address for _ in range(3)]
        target = f"memcached://{','.join(addresses)}"
        options = (*FEW, "--sharding", "ketama", "--workload", tmp_path / "mix.json")
        answer = measure(target, tmp_path / "study", *options)
        assert answer.code in (0, 4, 6), answer.err
        assert_counts_add_up(answer.result)
        assert answer.result["counts"]["misses"] == 0
        endpoints = answer.result["endpoints"]
        assert [endpoint["address"] for endpoint in endpoints] == addresses
        completed = sum(endpoint["counts"]["completed"] for endpoint in endpoints)
        assert completed == answer.result["counts"]["completed"]
        assert all(endpoint["merged_us"]["p50"] > 0 for endpoint in endpoints)

        keys = [stored_keys(address, NAMES) for address in addresses]
        assert sorted(name for names in keys for name in names) == sorted(NAMES), "each key by one server"
        assert min(map(len, keys)) > 30
        # twemproxy sorts servers by name, by default their address; ketama's circle is made of names.
        servers = "".join(f"   - {address}:1\n" for address in addresses)
        (tmp_path / "proxy.toml").write_text(PROXY.replace("SERVERS", servers))
        proxy = stack.enter_context(run_server(load_target_file(tmp_path / "proxy.toml")))
        assert stored_keys(proxy.address, NAMES) == NAMES

        # Another run removes the keys from their servers.
        (tmp_path / "mix.json").write_text(json.dumps(MIX | {"clean_up": True}))
        second = measure(target, tmp_path / "removed", *options)
        assert second.code in (0, 4, 6), second.err
        assert [stored_keys(address, NAMES) for address in addresses] == [[], [], []]

    failure = measure(target, tmp_path / "gone", *FEW)
    failure.assert_error(1, "not-listening")
    assert addresses[0] in failure.err
