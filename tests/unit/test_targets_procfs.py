"""/proc and ports, against sockets and processes of this test."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from messages import raises
from rows import each_row

from hindmost.core.targets import ports
from hindmost.core.targets.procfs import (
    cpu_affinity,
    cpu_seconds,
    decode_hex_address,
    is_local,
    join_address,
    listeners,
    listening_inodes,
    local_owner,
    process_tree,
    split_address,
)
from hindmost.errors import TargetError


@pytest.mark.skipif(sys.byteorder != "little", reason="the table requires a little-endian machine")
@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("0100007F", bytes([127, 0, 0, 1])),
        ("00000000", bytes(4)),
        ("00000000000000000000000001000000", bytes(15) + b"\x01"),
        ("0000000000000000FFFF00000100007F", bytes([127, 0, 0, 1])),
    ],
)
def test_kernel_addresses_are_decoded(text: str, raw: bytes) -> None:
    assert decode_hex_address(text) == raw


@each_row(("host", "port"), [("127.0.0.1", 80), ("::1", 6379), ("fe80::1%eth0", 1)])
def test_addresses_are_unchanged_by_splitting_and_joining(host: str, port: int) -> None:
    assert split_address(join_address(host, port)) == (host, port)


@pytest.mark.parametrize(
    ("bound", "asked", "seen"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("0.0.0.0", "127.0.0.1", True),
        ("127.0.0.2", "127.0.0.1", False),
        ("::1", "::1", True),
        ("::", "127.0.0.1", True),
        ("::", "::1", True),
        ("0.0.0.0", "::1", False),
    ],
)
def test_the_owner_of_a_listening_port_is_found(bound: str, asked: str, seen: bool) -> None:
    family = socket.AF_INET6 if ":" in bound else socket.AF_INET
    if not is_local(asked):
        pytest.skip(f"{asked} is not available")
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.bind((bound, 0))
        address = join_address(asked, server.getsockname()[1])
        assert local_owner(address) is None, "a bound socket is not listening"
        server.listen()
        assert (local_owner(address) == os.getpid()) is seen
        assert listeners(address) == ([os.getpid()] if seen else [])


def test_an_address_of_another_machine_has_no_owner() -> None:
    assert local_owner("192.0.2.1:80") is None


def test_missing_tables_are_no_error(tmp_path: Path) -> None:
    assert listening_inodes("127.0.0.1", 80, tmp_path) == set()


def test_a_process_tree_has_children_and_their_affinity() -> None:
    script = "import subprocess,sys; subprocess.run(['sleep', '60'])"
    child = subprocess.Popen([sys.executable, "-c", script])
    try:
        while len(process_tree(child.pid)) < 2:
            assert child.poll() is None
        tree = process_tree(child.pid)
        assert tree[0] == child.pid
        assert cpu_affinity(child.pid) == sorted(os.sched_getaffinity(child.pid))
        assert cpu_seconds(tree) >= 0.0
        os.kill(tree[1], 9)
    finally:
        child.kill()
        child.wait()
    with pytest.raises(ProcessLookupError):
        cpu_affinity(child.pid)
    assert cpu_seconds([child.pid]) == 0.0


def test_cpu_time_of_this_process_increases() -> None:
    before = cpu_seconds([os.getpid()])
    while cpu_seconds([os.getpid()]) == before:
        sum(range(100_000))


def test_a_free_port_is_below_the_ephemeral_range_and_can_be_bound() -> None:
    low, _ = ports.ephemeral_range()
    port = ports.pick_free_port("127.0.0.1")
    assert ports.bind_error("127.0.0.1", port) == 0
    assert port < low or low < 11_240


def test_a_port_is_found_without_ports_below_the_ephemeral_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "ephemeral_range", lambda: (1024, 65535))
    assert ports.pick_free_port("127.0.0.1") > 0


def test_an_address_of_another_machine_gets_no_port() -> None:
    with raises(TargetError, "no-free-port", host="192.0.2.1"):
        ports.pick_free_port("192.0.2.1")


def test_a_busy_port_is_refused_with_its_owner() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert ports.bind_error("127.0.0.1", port) == errno.EADDRINUSE
        with raises(TargetError, "address-in-use", host="127.0.0.1", port=port, pid=os.getpid()):
            ports.refuse_taken_port("127.0.0.1", port)
    ports.refuse_taken_port("127.0.0.1", port)


@each_row(
    "log",
    [
        "failed to listen on TCP port 1: Address already in use",
        "bind() failed (98: Address already in use)",
        "EADDRINUSE",
    ],
)
def test_logs_of_a_busy_port_are_recognised(log: str) -> None:
    assert ports.says_taken(log)
    assert not ports.says_taken("out of memory")
