"""A server that stands still for a tenth of a second: every request scheduled meanwhile is late, and is shown so.

::

    scheduled      | | | | | | | | | | | | | | | | | |      at a rate R over T seconds
    server         ========[ frozen for F ]===========
    latency        ........\\              ........         F minus the part of the freeze before the request:
                            \\____________                  uniform on (0, F], for the share F/T of requests

So P(latency > t) = (F - t) / T for t well above the usual latency, which gives p99 = F - T/100 and
p99.9 = F - T/1000, and the mean grows by F^2 / 2T. With T = 5 s and F = 100 ms: 50 ms, 95 ms, 1 ms. R is low,
so that the backlog of R x F requests is served within a millisecond. A load generator that waits for replies before
it sends (coordinated omission) would show a handful of late requests, and p99 some hundred microseconds.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from freezing import is_stopped
from measuring import Answer, finish, need, need_two_cpus, run_server, start, wait_for

from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

Floats = npt.NDArray[np.float64]

RATE, SECONDS, FREEZE_S = 2000, 5.0, 0.1
LEVELS = {"p99": 0.99, "p99.9": 0.999}
TOLERANCE = 0.02
EDGE_US = 1_500.0
"""The threads must stop, and the first reply must follow the freeze, within this time: otherwise the freeze has no sharp
edges. Checking that about ten threads have stopped takes half a millisecond."""
SEND_DELAY_US = 1000.0
"""A client that sends later than this (p99) adds its own delay to the freeze. One interruption of 5 ms (.1 % of the
time) does not reach it."""


@dataclass(frozen=True)
class Freeze:
    """When the server stood still, in microseconds since the measurement began, and the uncertainty of that.

    SIGSTOP is sent at ``begin`` and all threads have stopped at ``still``; requests in progress may complete between
    them. The server resumes between ``resume`` and ``end``.
    """

    begin: float
    still: float
    resume: float
    end: float

    @property
    def edge(self) -> float:
        return max(self.still - self.begin, self.end - self.resume)

    @property
    def lengths(self) -> tuple[float, float]:
        """Shortest and longest possible length."""
        return self.resume - self.still, self.end - self.begin


def count_gets(connection: socket.socket) -> int:
    """Number of gets that the server has received; only the load sends any."""
    connection.sendall(b"stats\r\n")
    reply = b""
    while not reply.endswith(b"END\r\n"):
        reply += connection.recv(65536)
    lines = dict(line.split()[1:3] for line in reply.decode().splitlines() if line.startswith("STAT "))
    return int(lines["cmd_get"])


def freeze(pid: int) -> list[float]:
    """Stop the process for `FREEZE_S`; returns the four times of a `Freeze` by the wall clock, in microseconds."""
    begin = time.time_ns()
    os.kill(pid, signal.SIGSTOP)
    while not is_stopped(pid):
        time.sleep(20e-6)  # a busy loop could occupy the CPU on which the threads are to stop
    still = time.time_ns()
    time.sleep(max(0.0, FREEZE_S - (time.time_ns() - begin) / 1e9))
    resume = time.time_ns()
    os.kill(pid, signal.SIGCONT)
    end = time.time_ns()
    time.sleep(0.01)  # leave the CPU to the server at once
    return [moment / 1e3 for moment in (begin, still, resume, end)]


def measure_frozen(arrivals: str, folder: Path) -> tuple[Answer, Freeze]:
    """Measure memcached, and freeze it about two seconds into the measurement."""
    server_cpu, client_cpu = need_two_cpus()
    out = folder / "study"
    with run_server(need("memcached"), cpus=[server_cpu]) as server:
        host, port = server.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=5.0) as connection:
            process = start(
                "measure",
                f"memcached://{server.address}",
                "--json",
                "--out",
                out,
                "--runs",
                "1",
                "--rate",
                RATE,
                "--duration",
                f"{SECONDS}s",
                "--warmup",
                "0.5s",
                "--arrivals",
                arrivals,
                "--client-cpus",
                client_cpu,
                "--samples",
                20 * RATE,
                "--quantiles",
                "50,90,99,99.9",
            )
            wait_for(lambda: count_gets(connection) > 0 or process.poll() is not None, "the load", 40.0)
            time.sleep(3.0)
            moments = freeze(server.pid)
        answer = finish(process, out)
    assert answer.code in (0, 4, 6), answer.err
    client = answer.study.client()
    zero = (client["started_s"] + client["warmup_s"] + client["calibration"]["seconds"]) * 1e6
    return answer, Freeze(*(moment - zero for moment in moments))


Range = tuple[float, float]
"""Minimum and maximum, since the edges of a freeze are uncertain."""


def figures(latency: Floats) -> dict[str, float]:
    table = {n: float(np.quantile(latency, level, method="inverted_cdf")) for n, level in LEVELS.items()}
    return table | {"mean": float(latency.mean())}


def arithmetic(scheduled: Floats, latency: Floats, frozen: Freeze) -> tuple[dict[str, Range], float, float]:
    """The expected figures for these scheduled times, as ranges.

    Also returns the delay of the first reply after the freeze, and the server's time for a request of the backlog.

    A request scheduled outside the freeze keeps its latency. One scheduled inside waits for the end and for the requests
    before it (at the server's highest speed), then takes the usual time.
    """
    done = scheduled + latency
    inside = (scheduled < frozen.end) & (done > frozen.begin + frozen.edge)
    usual = float(np.median(latency[~inside]))
    drain = np.sort(done[inside])
    each = (drain[-1] - drain[0]) / max(1, len(drain) - 1)
    late = float(drain[0] - frozen.end)

    def resume_at(moment: float) -> dict[str, float]:
        expected = latency.copy()
        expected[inside] = moment - scheduled[inside] + usual + each * np.arange(inside.sum())
        return figures(expected)

    return ranges(resume_at(frozen.resume), resume_at(frozen.end)), late, each


def closed_form(outside: Floats, frozen: Freeze, each: float) -> dict[str, Range]:
    """The expected figures for deterministic arrivals, from rate and lengths alone."""
    usual, total = float(np.median(outside)), SECONDS * 1e6
    slope = 1.0 - each * RATE / 1e6

    def expect(length: float) -> dict[str, float]:
        share = length / total
        mean = float(outside.mean()) * (1.0 - share) + share * (length * (1.0 - slope / 2.0) + usual)
        table = {name: length - slope * (1.0 - level) * total + usual for name, level in LEVELS.items()}
        return table | {"mean": mean}

    return ranges(*map(expect, frozen.lengths))


def ranges(least: dict[str, float], most: dict[str, float]) -> dict[str, Range]:
    return {name: (least[name], most[name]) for name in least}


def relative_errors(actual: dict[str, float], expected: dict[str, Range]) -> dict[str, float]:
    """Relative error of each figure; zero within its range."""
    return {name: actual[name] / np.clip(actual[name], *expected[name]) - 1.0 for name in expected}


def judge(answer: Answer, frozen: Freeze, arrivals: str) -> Finding:
    """Compare what the study shows of the freeze with what it should show."""
    rows = answer.study.samples()
    counts = answer.result["counts"]
    assert len(rows) == counts["scheduled"] == counts["completed"], "every request is kept and answered"
    assert 0.5e6 < frozen.begin < frozen.end < SECONDS * 1e6 - 0.5e6, "the freeze lies inside the measurement"
    scheduled = rows["scheduled_ns"].to_numpy() / 1e3
    latency = rows["completed_ns"].to_numpy() / 1e3 - scheduled
    expected, late, each = arithmetic(scheduled, latency, frozen)
    actual = {name: answer.result["runs"][0]["latency_us"][name] for name in expected}
    errors = relative_errors(actual, expected)
    outside = latency[(scheduled >= frozen.end) | (scheduled + latency <= frozen.begin + frozen.edge)]
    if arrivals == "deterministic":
        closed = closed_form(outside, frozen, each)
        errors |= {f"{name}, closed form": error for name, error in relative_errors(actual, closed).items()}
    error_texts = {name: f"{error:+.2%}" for name, error in errors.items()}
    usual = float(np.median(outside))
    line = (
        f"{arrivals}, frozen for {frozen.lengths[1] / 1e3:.3f} ms, first reply {late:.0f} us later, {each:.1f} us per request"
        f" of the backlog, {usual:.1f} for one alone, edges within {frozen.edge:.0f} us: {actual} us, errors {error_texts}"
    )
    blurred = list(find_blurred_edges(answer, frozen, late))
    right = each < usual and max(map(abs, errors.values())) <= TOLERANCE
    # A late stop or resumption is caused by this test or its host.
    return Finding(bool(right) and not blurred, "; ".join([line, *blurred]), disturbed=frozen.edge > EDGE_US)


def find_blurred_edges(answer: Answer, frozen: Freeze, late: float) -> Iterator[str]:
    """Reasons why the freeze had no sharp edges; on a quiet host, a late client is Hindmost's fault."""
    send_delay = answer.result["runs"][0]["send_delay_us"]["p99"]
    if send_delay > SEND_DELAY_US:
        yield f"send delay p99 {send_delay:.0f} us, the limit is {SEND_DELAY_US:.0f}"
    if late > EDGE_US:
        yield f"first reply {late:.0f} us after the freeze, the limit is {EDGE_US:.0f}"
    if frozen.edge > EDGE_US:
        yield f"stopped and resumed within {frozen.edge:.0f} us, the limit is {EDGE_US:.0f}"


@pytest.mark.memcached
@pytest.mark.parametrize("arrivals", ["deterministic", "exponential"])
def test_a_freeze_shows_in_full(arrivals: str, claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()
    claim.settle(
        f"a freeze of {FREEZE_S * 1e3:g} ms shows in full, {arrivals} arrivals",
        lambda: judge(*measure_frozen(arrivals, tmp_path / str(next(tries))), arrivals),
        limits.MAX_INTERFERENCE_LOOSE,
    )


def test_the_arithmetic_can_fail() -> None:
    """One request in flight at a time, as a closed loop sends them, misses nearly all of the freeze."""
    frozen = Freeze(2e6, 2e6, 2.1e6, 2.1e6)
    scheduled = np.arange(0.0, SECONDS * 1e6, 1e6 / RATE)
    usual = np.full(scheduled.size, 50.0)
    inside = (scheduled >= frozen.begin) & (scheduled < frozen.end)
    backlog = 2.0 * np.arange(inside.sum())
    whole = usual.copy()
    whole[inside] += frozen.end - scheduled[inside] + backlog
    right, _, each = arithmetic(scheduled, whole, frozen)
    assert max(map(abs, relative_errors(figures(whole), right).values())) < 0.005
    least = {name: low for name, (low, _) in right.items()}
    assert max(map(abs, relative_errors(least, closed_form(usual, frozen, each)).values())) < 0.01
    omitted = usual.copy()
    omitted[np.flatnonzero(inside)[0]] = frozen.lengths[1]
    assert min(relative_errors(figures(omitted), right).values()) < -0.9
    shorter = whole.copy()
    shorter[inside] *= 0.97
    assert min(relative_errors(figures(shorter), right).values()) < -TOLERANCE
