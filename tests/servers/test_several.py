"""Several servers at once: figures of each, and who keeps which key, by the word of twemproxy."""

from __future__ import annotations

import json
import re
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from measuring import ProcessTracker, assert_counts_add_up, measure, need, run_server

from hindmost.targets import load_target_file

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
"""twemproxy before servers of its caller's."""


def held(address: str, names: list[str]) -> list[str]:
    """Those of the keys that a memcached, or a proxy before some, has a value for."""
    host, port = address.rsplit(":", 1)
    found = []
    with socket.create_connection((host, int(port)), timeout=30.0) as talk:
        for name in names:
            talk.sendall(f"get {name}\r\n".encode())
            heard = b""
            while not heard.endswith(b"END\r\n"):
                came = talk.recv(1 << 16)
                assert came, "it hung up"
                heard += came
            found += re.findall(r"VALUE (\S+)", heard.decode())
    return found


@pytest.mark.memcached
def test_each_server_has_figures_and_keeps_its_keys_where_twemproxy_looks_for_them(
    tmp_path: Path, process_tracker: ProcessTracker
) -> None:
    spec = need("memcached")
    need("nutcracker")
    (tmp_path / "mix.json").write_text(json.dumps(MIX | {"clean_up": False}))
    with ExitStack() as stack:
        addresses = [stack.enter_context(run_server(spec)).address for _ in range(3)]
        target = f"memcached://{','.join(addresses)}"
        words = (*FEW, "--sharding", "ketama", "--workload", tmp_path / "mix.json")
        answer = measure(target, tmp_path / "study", *words)
        assert answer.code in (0, 4, 6), answer.err
        assert_counts_add_up(answer.result)
        assert answer.result["counts"]["misses"] == 0
        found = answer.result["endpoints"]
        assert [each["address"] for each in found] == addresses
        assert sum(each["counts"]["completed"] for each in found) == answer.result["counts"]["completed"]
        assert all(each["merged_us"]["p50"] > 0 for each in found)

        kept = [held(address, NAMES) for address in addresses]
        assert sorted(name for names in kept for name in names) == sorted(NAMES), "each by one"
        assert min(map(len, kept)) > 30
        # It sorts them by name, which is the address where none is given; ketama's circle is of names.
        servers = "".join(f"   - {address}:1\n" for address in addresses)
        (tmp_path / "proxy.toml").write_text(PROXY.replace("SERVERS", servers))
        proxy = stack.enter_context(run_server(load_target_file(tmp_path / "proxy.toml")))
        assert held(proxy.address, NAMES) == NAMES

        # Another run removes them again, each from whoever keeps it.
        (tmp_path / "mix.json").write_text(json.dumps(MIX | {"clean_up": True}))
        removed = measure(target, tmp_path / "removed", *words)
        assert removed.code in (0, 4, 6), removed.err
        assert [held(address, NAMES) for address in addresses] == [[], [], []]

    gone = measure(target, tmp_path / "gone", *FEW)
    gone.assert_error(1, "not-listening")
    assert addresses[0] in gone.err
