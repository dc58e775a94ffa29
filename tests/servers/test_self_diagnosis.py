"""The self-diagnosis against real problems: each is caused here, and must be found and named.

Other problems of the host may be named as well. ``tests/accuracy/test_neighbour.py`` tests that the largest comes first,
with its share.
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
"""Shares of one CPU. Spinning client and server want two CPUs, and get more than a twentieth of one even on a host with
forty competing processes."""


def reason(answer: Answer, code: str) -> dict[str, Any]:
    """The reason with that code; fails with the other reasons if there is none."""
    assert answer.code in (0, 4, 6), answer.err
    reasons = {reason["code"]: reason for reason in answer.result["reasons"]}
    assert code in reasons, {name: reason["text"] for name, reason in reasons.items()}
    return reasons[code]


def figure(answer: Answer, name: str) -> dict[str, Any]:
    """One row of the self-diagnosis."""
    return next(row for row in answer.result["instrument"]["figures"] if row["id"] == name)


def test_a_process_on_the_clients_cpu_is_named(tmp_path: Path) -> None:
    server, client = need_two_cpus()
    with run_disturber(client, tmp_path) as pid:
        cpus = ("--server-cpus", server, "--client-cpus", client, "--pacing", "spin")
        answer = measure("synth", tmp_path / "study", *LOAD, *cpus)
    # If a busy host makes p99 many times as long, the disturber explains only a small part of it, or none.
    levels = {reason["code"]: reason["level"] for reason in answer.result["reasons"]}
    assert levels.get("run-delay") in ("inconclusive", "note", None)
    neighbour = {row["pid"]: row for row in answer.result["instrument"]["neighbours"]}[pid]
    assert neighbour["name"] == "disturber"
    assert neighbour["bound"]
    assert not neighbour["kernel"]
    # Both processes get a part of the CPU; the scheduler decides how large.
    waiting, on_cpu = figure(answer, "waiting"), figure(answer, "on_cpu")
    if level := levels.get("run-delay"):
        assert waiting["mark"] == {"inconclusive": "unfit", "note": "note"}[level]
    assert waiting["value"] + on_cpu["value"] == pytest.approx(1.0, abs=0.05)


def listen_drops() -> int:
    """Dropped connections of all sockets in this network namespace, including other programs' (``ListenDrops``)."""
    names, counts = [
        line.split()
        for line in Path("/proc/net/netstat").read_text().splitlines()
        if line.startswith("TcpExt:")
    ]
    return int(counts[names.index("ListenDrops")])


def test_an_undisturbed_measurement_finds_no_problem_of_its_own(
    tmp_path: Path, exclusive: Callable[[str], None]
) -> None:
    need_two_cpus()
    exclusive("accept-queues")
    before = listen_drops()
    answer = measure("synth", tmp_path / "study", *LOAD)
    dropped = listen_drops() - before
    # The coordinator gets the order and sleeps until its worker wakes it. Other processes may preempt it.
    assert answer.study.client()["host"]["coordinator"]["voluntary_switches"] <= 2
    figures = {row["id"]: row["value"] for row in answer.result["instrument"]["figures"]}
    assert figures["blocked"] == 0
    assert figures["dropped"] <= dropped, "at most the drops of other servers"
    assert 0 < figures["working"] < 1
    assert figures["interrupts"] > 0
    assert "server_queues" in json.loads((answer.study.runs()[0] / "run.json").read_text())


class Quota:
    """A cgroup with a quota of one CPU's time."""

    def __init__(self, group: Path) -> None:
        self._group = group

    def join(self) -> None:
        """Move this process and its future children into the group."""
        (self._group / "cgroup.procs").write_text(str(os.getpid()))

    def limit(self, share: float) -> None:
        """Limit the share of a CPU, in periods of 100 ms."""
        if (self._group / "cpu.cfs_quota_us").exists():
            (self._group / "cpu.cfs_quota_us").write_text(str(int(share * 100_000)))
        else:
            (self._group / "cpu.max").write_text(f"{int(share * 100_000)} 100000")


@contextmanager
def quota() -> Iterator[Quota]:
    """A cgroup with a quota that is too large to matter."""
    for root in (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")):
        group = root / f"hindmost-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            limit = Quota(group)
            limit.limit(AMPLE)
            yield limit
            return
        except OSError:
            continue
        finally:
            for _ in range(100):  # its last process may still be exiting
                with contextlib.suppress(OSError):
                    group.rmdir()
                    break
                time.sleep(0.05)
    pytest.skip("no cgroup can be made here")


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
    throttling = reason(answer, "throttled")
    assert throttling["level"] == "inconclusive"
    assert figure(answer, "throttled")["mark"] == "unfit"


class SlowServer:
    """A memcached that accepts slowly with a short queue, or reads slowly into a small buffer.

    Parameters
    ----------
    backlog : int
        Length of its accept queue.
    accept_s : float
        Time between two accepts.
    receive_bytes, read_s : int, float
        Its receive buffer and the time between two reads, to make it read slowly.
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

    def __enter__(self) -> SlowServer:
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
        remaining = 0  # bytes of a value still to be read
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as lines:
            while line := lines.readline():
                if line.startswith(b"version"):
                    connection.sendall(b"VERSION 1.6.0\r\n")
                elif line.startswith(b"set "):
                    remaining = int(line.split()[4]) + 2
                    while remaining:
                        time.sleep(self._read_s)
                        remaining -= len(lines.read(min(remaining, 65536)))
                    connection.sendall(b"STORED\r\n")
                elif line.startswith(b"get "):
                    connection.sendall(b"END\r\n")


def test_connections_that_a_short_queue_drops_are_counted(
    tmp_path: Path, exclusive: Callable[[str], None]
) -> None:
    exclusive("accept-queues")
    (tmp_path / "gets.json").write_text('{"get_ratio": 1.0, "keys": 10}')
    load = ("--connections", "32", "--workload", tmp_path / "gets.json")
    with SlowServer(backlog=1, accept_s=0.02) as server:
        answer = measure(f"memcached://{server.address}", tmp_path / "study", *LOAD, *load)
    reason(answer, "dropped-connections")
    assert figure(answer, "dropped")["value"] > 0


def test_a_server_that_reads_slowly_is_found(tmp_path: Path) -> None:
    (tmp_path / "sets.json").write_text('{"get_ratio": 0.0, "keys": 10, "value_bytes": 200000}')
    load = ("--rate", "400", "--connections", "2", "--workload", tmp_path / "sets.json", "--timeout", "0.5s")

    with SlowServer(receive_bytes=4096, read_s=0.002) as server:
        answer = measure(f"memcached://{server.address}", tmp_path / "study", *LOAD[2:], *load)
    reason(answer, "server-reads-slowly")
    sockets = answer.study.client()["threads"][0]["sockets"]
    assert sockets["peer_full_us"] > 0
    assert sockets["send"]["bytes"] > 0
    # Without CPU, the client sends too little to be blocked itself.
    assert figure(answer, "blocked")["mark"] != "note" or sockets["blocked_writes"] > 0


def test_a_full_receive_buffer_of_the_client_is_found(tmp_path: Path) -> None:
    out = tmp_path / "study"
    (tmp_path / "large.json").write_text('{"get_ratio": 1.0, "keys": 100, "value_bytes": 20000}')
    # A separate namespace with small receive buffers; the server receives only short requests.
    small = "ip link set lo up && sysctl -qw net.ipv4.tcp_rmem='4096 16384 16384'"
    if subprocess.run(["unshare", "-n", "sh", "-c", small], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here")
    command = ["measure", "synth", "--json", "--out", out, *LOAD, "--warmup", "0.3s", "--connections", "2"]
    command += ["--workload", tmp_path / "large.json"]
    namespace = ["unshare", "-n", "sh", "-c", f'{small} && exec "$@"', "sh"]
    answer = finish(start(*command, before=namespace), out)
    reason(answer, "client-reads-slowly")
    assert figure(answer, "receive_fill")["mark"] == "note"
    assert answer.study.client()["tcp"]["zero_windows"] > 0
