"""The instrument's self-diagnosis against real trouble: each is made here, and must be found and named.

Other troubles that the host has besides may be named, too. That the greatest comes first, with the share that it took,
is settled by ``tests/accuracy/test_neighbour.py``.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from measuring import Answer, descendants, finish, measure, need_two_cpus, start, wait_for
from neighbours import run_disturber

LOAD = ("--rate", "2000", "--runs", "1", "--duration", "0.6s", "--quantiles", "50,99")
AMPLE, SCARCE = 16.0, 0.04
"""Shares of one processor. Spinning client and spinning server want two of them, and get more than a twentieth of one
even from a host where forty others want the same."""


def reason(answer: Answer, code: str) -> dict[str, Any]:
    """The reason of that code; what was found instead, if there is none."""
    assert answer.code in (0, 4, 6), answer.err
    found = {one["code"]: one for one in answer.result["reasons"]}
    assert code in found, {name: one["text"] for name, one in found.items()}
    return found[code]


def figure(answer: Answer, name: str) -> dict[str, Any]:
    """One row of the self-diagnosis."""
    return next(one for one in answer.result["instrument"]["figures"] if one["id"] == name)


def test_a_program_on_the_clients_processor_is_named(tmp_path: Path) -> None:
    server, client = need_two_cpus()
    with run_disturber(client, tmp_path) as pid:
        places = ("--server-cpus", server, "--client-cpus", client, "--pacing", "spin")
        answer = measure("synth", tmp_path / "study", *LOAD, *places)
    # Where a busy host made p99 many times as long, what the disturber took is a small part of it, or not worth a word.
    levels = {one["code"]: one["level"] for one in answer.result["reasons"]}
    assert levels.get("run-delay") in ("inconclusive", "note", None)
    named = {one["pid"]: one for one in answer.result["instrument"]["neighbours"]}[pid]
    assert named["name"] == "disturber"
    assert named["bound"]
    assert not named["kernel"]
    # Two that want one processor get a part of it each; how large, the scheduler decides.
    waiting, on_cpu = figure(answer, "waiting"), figure(answer, "on_cpu")
    if level := levels.get("run-delay"):
        assert waiting["mark"] == {"inconclusive": "unfit", "note": "mind"}[level]
    assert waiting["value"] + on_cpu["value"] == pytest.approx(1.0, abs=0.05)


def listen_drops() -> int:
    """Of all sockets of this network namespace, which others use, too (``ListenDrops``, netstat)."""
    names, counts = [
        line.split()
        for line in Path("/proc/net/netstat").read_text().splitlines()
        if line.startswith("TcpExt:")
    ]
    return int(counts[names.index("ListenDrops")])


def test_nothing_of_ours_is_in_the_way(tmp_path: Path, exclusive: Callable[[str], None]) -> None:
    need_two_cpus()
    exclusive("accept-queues")
    before = listen_drops()
    answer = measure("synth", tmp_path / "study", *LOAD)
    dropped = listen_drops() - before
    # The coordinator hears the order and sleeps; it wakes when its worker rings. Others may push it off.
    assert answer.study.client()["host"]["coordinator"]["voluntary_switches"] <= 2
    figures = {one["id"]: one["value"] for one in answer.result["instrument"]["figures"]}
    assert figures["blocked"] == 0
    assert figures["dropped"] <= dropped, "by servers of others, at most"
    assert 0 < figures["working"] < 1
    assert figures["interrupts"] > 0
    assert "server_queues" in json.loads((answer.study.runs()[0] / "run.json").read_text())


class Quota:
    """A control group and how much of one processor it may use."""

    def __init__(self, group: Path) -> None:
        self._group = group

    def join(self) -> None:
        """This process and its children, from now on."""
        (self._group / "cgroup.procs").write_text(str(os.getpid()))

    def limit(self, share: float) -> None:
        """In periods of 100 ms."""
        if (self._group / "cpu.cfs_quota_us").exists():
            (self._group / "cpu.cfs_quota_us").write_text(str(int(share * 100_000)))
        else:
            (self._group / "cpu.max").write_text(f"{int(share * 100_000)} 100000")


@contextmanager
def quota() -> Iterator[Quota]:
    """A control group with a quota that is yet out of reach."""
    for root in (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")):
        group = root / f"hindmost-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            one = Quota(group)
            one.limit(AMPLE)
            yield one
            return
        except OSError:
            continue
        finally:
            for _ in range(100):  # its last process may still be ending
                with contextlib.suppress(OSError):
                    group.rmdir()
                    break
                time.sleep(0.05)
    pytest.skip("no control group can be made here")


def test_a_quota_that_stops_the_client_is_found(tmp_path: Path) -> None:
    need_two_cpus()
    out = tmp_path / "study"
    with quota() as group:
        process = start(
            "measure", "synth", "--json", "--out", out, *LOAD, "--warmup", "0.3s", preexec_fn=group.join
        )

        wait_for(
            lambda: any("agent client" in line for line in descendants(process.pid).values()), "the load"
        )
        group.limit(SCARCE)
        wait_for((out / "runs" / "0001").exists, "the end of the run")
        group.limit(AMPLE)
        answer = finish(process, out)
    found = reason(answer, "throttled")
    assert found["level"] == "inconclusive"
    assert figure(answer, "throttled")["mark"] == "unfit"


class Reluctant:
    """A memcached that accepts slowly behind a short queue, or reads slowly into a small buffer.

    Parameters
    ----------
    backlog : int
        Length of its accept queue.
    accept_s : float
        Time between two accepts.
    receive_bytes, read_s : int, float
        Its receive buffer and the time between two reads, if it is to read slowly.
    """

    def __init__(
        self, backlog: int = 128, accept_s: float = 0.0, receive_bytes: int = 0, read_s: float = 0.0
    ) -> None:
        self._listener = socket.socket()
        if receive_bytes:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(backlog)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._accept_s, self._read_s = accept_s, read_s
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Reluctant:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
                time.sleep(self._accept_s)

    def _serve(self, connection: socket.socket) -> None:
        left = 0  # bytes of a value that are still to come
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as lines:
            while line := lines.readline():
                if line.startswith(b"version"):
                    connection.sendall(b"VERSION 1.6.0\r\n")
                elif line.startswith(b"set "):
                    left = int(line.split()[4]) + 2
                    while left:
                        time.sleep(self._read_s)
                        left -= len(lines.read(min(left, 65536)))
                    connection.sendall(b"STORED\r\n")
                elif line.startswith(b"get "):
                    connection.sendall(b"END\r\n")


def test_connections_that_a_short_queue_drops_are_counted(
    tmp_path: Path, exclusive: Callable[[str], None]
) -> None:
    exclusive("accept-queues")
    (tmp_path / "gets.json").write_text('{"get_ratio": 1.0, "keys": 10}')
    more = ("--connections", "32", "--workload", tmp_path / "gets.json")
    with Reluctant(backlog=1, accept_s=0.02) as server:
        answer = measure(f"memcached://{server.address}", tmp_path / "study", *LOAD, *more)
    reason(answer, "dropped-connections")
    assert figure(answer, "dropped")["value"] > 0


def test_a_server_that_reads_slowly_fills_buffers_and_is_found(tmp_path: Path) -> None:
    (tmp_path / "sets.json").write_text('{"get_ratio": 0.0, "keys": 10, "value_bytes": 200000}')
    more = ("--rate", "400", "--connections", "2", "--workload", tmp_path / "sets.json", "--timeout", "0.5s")

    with Reluctant(receive_bytes=4096, read_s=0.002) as server:
        answer = measure(f"memcached://{server.address}", tmp_path / "study", *LOAD[2:], *more)
    reason(answer, "server-reads-slowly")
    sockets = answer.study.client()["threads"][0]["sockets"]
    assert sockets["peer_full_us"] > 0
    assert sockets["send"]["bytes"] > 0
    # Without a processor the client sends too little to be held up itself.
    assert figure(answer, "blocked")["mark"] != "mind" or sockets["blocked_writes"] > 0


def test_a_full_receive_buffer_of_the_client_is_found(tmp_path: Path) -> None:
    out = tmp_path / "study"
    (tmp_path / "large.json").write_text('{"get_ratio": 1.0, "keys": 100, "value_bytes": 20000}')
    # A namespace of its own, where receive buffers are small; the server's only gets short requests.
    small = "ip link set lo up && sysctl -qw net.ipv4.tcp_rmem='4096 16384 16384'"
    if subprocess.run(["unshare", "-n", "sh", "-c", small], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here")
    words = ["measure", "synth", "--json", "--out", out, *LOAD, "--warmup", "0.3s", "--connections", "2"]
    words += ["--workload", tmp_path / "large.json"]
    inside = ["unshare", "-n", "sh", "-c", f'{small} && exec "$@"', "sh"]
    answer = finish(start(*words, before=inside), out)
    reason(answer, "client-reads-slowly")
    assert figure(answer, "receive_fill")["mark"] == "mind"
    assert answer.study.client()["tcp"]["zero_windows"] > 0
