"""The originals: real programs that log what happened to each request. The log must be consistent and complete."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from measuring import VERDICTS, assert_counts_add_up, measure

ROOT = Path(__file__).parents[2]
BINARY = ROOT / "originals" / "bin" / "originals"
PROGRAMS = ("compress", "image", "search", "sqlite", "text")
COLUMNS = ["arrival_ns", "start_ns", "end_ns", "cpu_ns", "thread", "kind"]

pytestmark = pytest.mark.originals


FEW = ("sqlite", "text")
"""Run in every test run: one program with updates that change later reads, and one without. All programs run nightly."""


@pytest.fixture(
    params=[name if name in FEW else pytest.param(name, marks=pytest.mark.nightly) for name in PROGRAMS]
)
def program(request: pytest.FixtureRequest) -> str:
    """Each program; skips and names what is missing."""
    need_originals()
    name: str = request.param
    trial = originals(name, "--integrated", "--requests", "1")
    if trial.returncode and "without" in trial.stderr:
        pytest.skip(trial.stderr.strip())
    assert trial.returncode == 0, trial.stderr
    return name


def need_originals() -> None:
    if not BINARY.exists():
        pytest.skip("the originals are not built (make originals)")


def originals(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def read_log(path: Path) -> Any:
    pl = pytest.importorskip("polars")
    log = pl.read_csv(path)
    assert log.columns == COLUMNS
    return log


@dataclass
class Server:
    """A running server, and the replies that its clients received."""

    address: str
    process: subprocess.Popen[str]
    replies: list[str] = field(default_factory=list)
    cpu_s: float = 0.0
    stderr: str = ""

    def load(self, seconds: float, clients: int) -> None:
        """Each client sends its next request when it has the reply to the last one."""

        def send_requests() -> None:
            connection = http.client.HTTPConnection(self.address, timeout=30)
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                self.replies.append(self.get(connection, "/"))
            connection.close()

        threads = [threading.Thread(target=send_requests) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def get(self, connection: http.client.HTTPConnection, path: str) -> str:
        connection.request("GET", path)
        reply = connection.getresponse()
        body = reply.read().decode()
        assert reply.status == 200, body
        return body.strip()


@contextmanager
def run_program(program: str, *options: object) -> Iterator[Server]:
    """Run `originals PROGRAM OPTIONS`, ended by SIGTERM."""
    process = subprocess.Popen(
        [BINARY, program, *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        first = process.stdout.readline()
        assert first.startswith(f"{program} http://127.0.0.1:"), process.stderr.read()
        server = Server(first.split("/")[2], process)
        yield server
        process.send_signal(signal.SIGTERM)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        server.cpu_s, server.stderr = usage.ru_utime + usage.ru_stime, process.stderr.read()
        assert process.returncode == 0, server.stderr
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def assert_consistent(log: Any, threads: int) -> None:
    """Assert what holds for any queue with workers, on any host."""
    assert (log["arrival_ns"] <= log["start_ns"]).all()
    assert (log["start_ns"] < log["end_ns"]).all()
    assert log["arrival_ns"].is_sorted(), "one line per request, in the order of arrival"
    assert set(log["thread"]) <= set(range(threads))
    service = log["end_ns"] - log["start_ns"]
    assert (log["cpu_ns"] <= service).all()
    assert (log["cpu_ns"] > 0).all()
    for _, rows in log.group_by("thread"):
        assert (rows["start_ns"].slice(1) >= rows["end_ns"].head(-1)).all(), (
            "one at a time, first come first served"
        )
    span = log["end_ns"].max() - log["start_ns"].min()
    assert service.sum() <= threads * span


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_the_log_is_consistent_and_agrees_with_the_clients(
    program: str, threads: int, tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    with run_program(program, "--threads", threads, "--log", path) as server:
        server.load(0.4, clients=3)
        assert not path.exists(), "nothing is written while it serves"
    log = read_log(path)
    assert_consistent(log, threads)
    if threads == 1:
        assert log["start_ns"].is_sorted()
        assert (log["start_ns"] - log["arrival_ns"]).max() > 0
    assert len(log) == len(server.replies) > 10
    assert Counter(log["kind"]) == Counter(reply.split()[0] for reply in server.replies)
    assert log["cpu_ns"].sum() / 1e9 <= server.cpu_s
    assert [int(number) for number in re.findall(r"\d+", server.stderr)][:2] == [len(log), 0], server.stderr


def test_a_seed_repeats_its_requests_however_they_are_sent(program: str, tmp_path: Path) -> None:
    path, count = tmp_path / "log.csv", 150
    options = ("--integrated", "--requests", count, "--log", path)
    assert originals(program, *options, "--seed", 5).returncode == 0
    kinds = read_log(path)["kind"].to_list()
    assert_consistent(read_log(path), 1)
    with run_program(program, "--seed", 5, "--log", path) as server:
        connection = http.client.HTTPConnection(server.address, timeout=30)
        unnumbered = [server.get(connection, "/") for _ in range(count)]
        numbered = [server.get(connection, f"/?i={number}") for number in range(count)]
        connection.close()
    assert [reply.split()[0] for reply in unnumbered] == kinds
    if program == "sqlite":  # its updates change later replies
        numbered = [reply.split()[0] for reply in numbered]
        unnumbered = [reply.split()[0] for reply in unnumbered]
    assert numbered == unnumbered
    assert originals(program, *options, "--seed", 6).returncode == 0
    assert read_log(path)["kind"].to_list() != kinds


def test_another_seed_uses_the_same_data_and_other_data_is_a_different_server(program: str) -> None:
    """A verification gives each run different requests, which must not come with other tables, texts or images."""

    def replies(*options: object) -> list[str]:
        with run_program(program, *options) as server:
            connection = http.client.HTTPConnection(server.address, timeout=30)
            result = [server.get(connection, f"/?i={number}") for number in range(60)]
            connection.close()
        return result

    first, second = replies("--seed", 3), replies("--seed", 3, "--data", 2)
    assert [reply.split()[0] for reply in first] == [reply.split()[0] for reply in second]
    assert first != second


def test_open_loop_arrivals_do_not_wait_for_workers(program: str, tmp_path: Path) -> None:
    path, count, rate = tmp_path / "log.csv", 2000, 4000.0
    options = ("--integrated", "--requests", count, "--rate", rate, "--threads", 2, "--log", path)
    process = originals(program, *options)
    assert process.returncode == 0, process.stderr
    log = read_log(path)
    assert_consistent(log, 2)
    gaps = log["arrival_ns"].diff().drop_nulls() / 1e9
    # Scheduled times depend on the seed alone, so this checks a fixed draw, not a measurement.
    assert gaps.mean() == pytest.approx(1 / rate, rel=0.1)
    assert gaps.std() == pytest.approx(1 / rate, rel=0.15)


def test_pipelined_replies_keep_their_order_whichever_worker_is_ready_first() -> None:
    need_originals()
    with run_program("text", "--threads", 2) as server:
        connection = http.client.HTTPConnection(server.address, timeout=30)
        single = [server.get(connection, f"/?i={number}") for number in range(100)]
        assert connection.sock is not None
        connection.sock.sendall(
            b"".join(b"GET /?i=%d HTTP/1.1\r\n\r\n" % number for number in range(100))
            + b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"
        )
        with connection.sock.makefile("rb") as stream:
            text = stream.read().decode()  # to the end: the server closes, as requested
        connection.close()
    bodies = [part.split("\r\n\r\n")[1].strip() for part in text.split("HTTP/1.1 ")[1:]]
    assert bodies[:100] == single
    assert len(bodies) == 101


def test_requests_beyond_the_log_are_served_and_reported(tmp_path: Path) -> None:
    need_originals()
    path = tmp_path / "log-%p.csv"
    with run_program("text", "--keep", 10, "--log", path, "--no-cpu-time") as server:
        connection = http.client.HTTPConnection(server.address, timeout=30)
        for _ in range(25):
            server.get(connection, "/")
        connection.close()
    log = read_log(tmp_path / f"log-{server.process.pid}.csv")
    assert len(log) == 10
    assert log["cpu_ns"].null_count() == 10
    assert "--keep 25" in server.stderr


def test_each_program_is_a_target(program: str, tmp_path: Path) -> None:
    log = tmp_path / "log-%p.csv"
    target = f"{ROOT / 'originals' / 'targets' / program}.toml?log={log}"
    answer = measure(target, tmp_path / "study", "--rate", "300", "--duration", "0.3s", "--warmup", "0.1s")
    assert answer.code == VERDICTS[answer.result["verdict"]], answer.err
    assert_counts_add_up(answer.result)
    assert answer.result["counts"]["errors"] == answer.result["counts"]["timeouts"] == 0
    logs = [read_log(path) for path in tmp_path.glob("log-*.csv")]
    assert len(logs) == 2, "one per run"
    # Warm-up and the readiness probe are requests, too.
    assert sum(map(len, logs)) > answer.result["counts"]["completed"]
