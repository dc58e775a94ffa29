"""The originals: real programs that log what happened to each request. Is what they log consistent, and is it all?"""

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
"""One whose updates change what is read later, and one with none: in every test run. All of them: the slow ring."""


@pytest.fixture(
    params=[name if name in FEW else pytest.param(name, marks=pytest.mark.nightly) for name in PROGRAMS]
)
def program(request: pytest.FixtureRequest) -> str:
    """Each program, or a skip that says what is missing."""
    need_originals()
    name: str = request.param
    tried = originals(name, "--integrated", "--requests", "1")
    if tried.returncode and "without" in tried.stderr:
        pytest.skip(tried.stderr.strip())
    assert tried.returncode == 0, tried.stderr
    return name


def need_originals() -> None:
    if not BINARY.exists():
        pytest.skip("the originals are not built (make originals)")


def originals(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, timeout=60)


def log_of(path: Path) -> Any:
    pl = pytest.importorskip("polars")
    log = pl.read_csv(path)
    assert log.columns == COLUMNS
    return log


@dataclass
class Served:
    """A server that was started, and what its clients saw."""

    address: str
    process: subprocess.Popen[str]
    seen: list[str] = field(default_factory=list)
    cpu_s: float = 0.0
    said: str = ""

    def load(self, seconds: float, clients: int) -> None:
        """Each client asks, waits for the answer, and asks again."""

        def ask() -> None:
            connection = http.client.HTTPConnection(self.address, timeout=30)
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                self.seen.append(self.get(connection, "/"))
            connection.close()

        threads = [threading.Thread(target=ask) for _ in range(clients)]
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
def serving(program: str, *words: object) -> Iterator[Served]:
    """`originals PROGRAM WORDS`, ended by SIGTERM."""
    process = subprocess.Popen(
        [BINARY, program, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        first = process.stdout.readline()
        assert first.startswith(f"{program} http://127.0.0.1:"), process.stderr.read()
        served = Served(first.split("/")[2], process)
        yield served
        process.send_signal(signal.SIGTERM)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        served.cpu_s, served.said = usage.ru_utime + usage.ru_stime, process.stderr.read()
        assert process.returncode == 0, served.said
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def assert_consistent(log: Any, threads: int) -> None:
    """What must hold of any queue with workers behind it, however noisy the host."""
    assert (log["arrival_ns"] <= log["start_ns"]).all()
    assert (log["start_ns"] < log["end_ns"]).all()
    assert log["arrival_ns"].is_sorted(), "one line a request, in the order of arrival"
    assert set(log["thread"]) <= set(range(threads))
    service = log["end_ns"] - log["start_ns"]
    assert (log["cpu_ns"] <= service).all()
    assert (log["cpu_ns"] > 0).all()
    for _, own in log.group_by("thread"):
        assert (own["start_ns"].slice(1) >= own["end_ns"].head(-1)).all(), "one at a time, first come first"
    span = log["end_ns"].max() - log["start_ns"].min()
    assert service.sum() <= threads * span


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_the_log_is_consistent_and_agrees_with_what_clients_saw(
    program: str, threads: int, tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    with serving(program, "--threads", threads, "--log", path) as served:
        served.load(0.4, clients=3)
        assert not path.exists(), "nothing is written while it serves"
    log = log_of(path)
    assert_consistent(log, threads)
    if threads == 1:
        assert log["start_ns"].is_sorted()
        assert (log["start_ns"] - log["arrival_ns"]).max() > 0
    assert len(log) == len(served.seen) > 10
    assert Counter(log["kind"]) == Counter(reply.split()[0] for reply in served.seen)
    assert log["cpu_ns"].sum() / 1e9 <= served.cpu_s
    assert [int(one) for one in re.findall(r"\d+", served.said)][:2] == [len(log), 0], served.said


def test_a_seed_repeats_its_requests_however_they_are_made(program: str, tmp_path: Path) -> None:
    path, count = tmp_path / "log.csv", 150
    words = ("--integrated", "--requests", count, "--log", path)
    assert originals(program, *words, "--seed", 5).returncode == 0
    kinds = log_of(path)["kind"].to_list()
    assert_consistent(log_of(path), 1)
    with serving(program, "--seed", 5, "--log", path) as served:
        connection = http.client.HTTPConnection(served.address, timeout=30)
        drawn = [served.get(connection, "/") for _ in range(count)]
        named = [served.get(connection, f"/?i={number}") for number in range(count)]
        connection.close()
    assert [reply.split()[0] for reply in drawn] == kinds
    if program == "sqlite":  # whose updates change what is read later
        named = [reply.split()[0] for reply in named]
        drawn = [reply.split()[0] for reply in drawn]
    assert named == drawn
    assert originals(program, *words, "--seed", 6).returncode == 0
    assert log_of(path)["kind"].to_list() != kinds


def test_another_seed_asks_the_same_server_and_other_data_is_another_one(program: str) -> None:
    """A verification gives each run other requests: they must not come with other tables, texts or images."""

    def replies(*words: object) -> list[str]:
        with serving(program, *words) as served:
            connection = http.client.HTTPConnection(served.address, timeout=30)
            found = [served.get(connection, f"/?i={number}") for number in range(60)]
            connection.close()
        return found

    one, other = replies("--seed", 3), replies("--seed", 3, "--data", 2)
    assert [reply.split()[0] for reply in one] == [reply.split()[0] for reply in other]
    assert one != other


def test_open_loop_arrivals_are_due_whether_or_not_workers_are_ready(program: str, tmp_path: Path) -> None:
    path, count, rate = tmp_path / "log.csv", 2000, 4000.0
    words = ("--integrated", "--requests", count, "--rate", rate, "--threads", 2, "--log", path)
    tried = originals(program, *words)
    assert tried.returncode == 0, tried.stderr
    log = log_of(path)
    assert_consistent(log, 2)
    gaps = log["arrival_ns"].diff().drop_nulls() / 1e9
    # Due times come from the seed alone, so this is exact arithmetic of a fixed draw, not a measurement.
    assert gaps.mean() == pytest.approx(1 / rate, rel=0.1)
    assert gaps.std() == pytest.approx(1 / rate, rel=0.15)


def test_pipelined_replies_keep_their_order_whichever_worker_is_ready_first() -> None:
    need_originals()
    with serving("text", "--threads", 2) as served:
        connection = http.client.HTTPConnection(served.address, timeout=30)
        single = [served.get(connection, f"/?i={number}") for number in range(100)]
        assert connection.sock is not None
        connection.sock.sendall(
            b"".join(b"GET /?i=%d HTTP/1.1\r\n\r\n" % number for number in range(100))
            + b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"
        )
        with connection.sock.makefile("rb") as stream:
            text = stream.read().decode()  # to its end: the server closes, as it was asked
        connection.close()
    bodies = [part.split("\r\n\r\n")[1].strip() for part in text.split("HTTP/1.1 ")[1:]]
    assert bodies[:100] == single
    assert len(bodies) == 101


def test_requests_beyond_the_log_are_served_and_told(tmp_path: Path) -> None:
    need_originals()
    path = tmp_path / "log-%p.csv"
    with serving("text", "--keep", 10, "--log", path, "--no-cpu-time") as served:
        connection = http.client.HTTPConnection(served.address, timeout=30)
        for _ in range(25):
            served.get(connection, "/")
        connection.close()
    log = log_of(tmp_path / f"log-{served.process.pid}.csv")
    assert len(log) == 10
    assert log["cpu_ns"].null_count() == 10
    assert "--keep 25" in served.said


def test_each_program_is_a_target(program: str, tmp_path: Path) -> None:
    log = tmp_path / "log-%p.csv"
    target = f"{ROOT / 'originals' / 'targets' / program}.toml?log={log}"
    answer = measure(target, tmp_path / "study", "--rate", "300", "--duration", "0.3s", "--warmup", "0.1s")
    assert answer.code == VERDICTS[answer.result["verdict"]], answer.err
    assert_counts_add_up(answer.result)
    assert answer.result["counts"]["errors"] == answer.result["counts"]["timeouts"] == 0
    logs = [log_of(path) for path in tmp_path.glob("log-*.csv")]
    assert len(logs) == 2, "one for each run"
    # Warm-up and the probe that it is ready are requests, too.
    assert sum(map(len, logs)) > answer.result["counts"]["completed"]
