"""A server that stands still for a tenth of a second: every request due meanwhile is late, and is shown so.

::

    requests due   | | | | | | | | | | | | | | | | | |      at a rate R over T seconds
    server         ========[ frozen for F ]===========
    latency        ........\\              ........         F less what had passed of the freeze when due:
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
from freezing import stopped
from measuring import Answer, finish, need, need_two_processors, running, start, wait_for

from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

Floats = npt.NDArray[np.float64]

RATE, SECONDS, FREEZE_S = 2000, 5.0, 0.1
LEVELS = {"p99": 0.99, "p99.9": 0.999}
TOLERANCE = 0.02
EDGE_US = 1_500.0
"""All threads must stop, and the first reply come after the freeze, so promptly: else the freeze has no sharp edges.

To see that some ten threads have stopped takes half a millisecond by itself."""
SEND_DELAY_US = 1000.0
"""A client that sends later than this (p99) adds its own lateness to what the freeze makes. One spell of 5 ms, .1 % of
the time, in which the host had its processor, is no such thing."""


@dataclass(frozen=True)
class Freeze:
    """When the server stood still, microseconds since the measurement began, and what made it uncertain.

    It is told to stop at ``begin`` and stands ``still`` soon after: what it had in hand may be answered before. It is
    let go between ``again`` and ``end``.
    """

    begin: float
    still: float
    again: float
    end: float

    @property
    def edge(self) -> float:
        return max(self.still - self.begin, self.end - self.again)

    @property
    def lengths(self) -> tuple[float, float]:
        """At least and at most."""
        return self.again - self.still, self.end - self.begin


def gets(talk: socket.socket) -> int:
    """How many gets the server has had; only the load sends any."""
    talk.sendall(b"stats\r\n")
    heard = b""
    while not heard.endswith(b"END\r\n"):
        heard += talk.recv(65536)
    lines = dict(line.split()[1:3] for line in heard.decode().splitlines() if line.startswith("STAT "))
    return int(lines["cmd_get"])


def freeze(pid: int) -> list[float]:
    """Stop it for `FREEZE_S`; the four moments of a `Freeze` by the wall clock, microseconds."""
    begin = time.time_ns()
    os.kill(pid, signal.SIGSTOP)
    while not stopped(pid):
        time.sleep(20e-6)  # whoever looks without a rest may have the processor on which they are to stop
    still = time.time_ns()
    time.sleep(max(0.0, FREEZE_S - (time.time_ns() - begin) / 1e9))
    again = time.time_ns()
    os.kill(pid, signal.SIGCONT)
    end = time.time_ns()
    time.sleep(0.01)  # give the processor to the server at once
    return [moment / 1e3 for moment in (begin, still, again, end)]


def measure_frozen(arrivals: str, folder: Path) -> tuple[Answer, Freeze]:
    """Measure memcached, and freeze it about two seconds into the measurement."""
    server_cpu, client_cpu = need_two_processors()
    out = folder / "study"
    with running(need("memcached"), cpus=[server_cpu]) as server:
        host, port = server.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=5.0) as talk:
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
            wait_for(lambda: gets(talk) > 0 or process.poll() is not None, "the load", 40.0)
            time.sleep(3.0)
            moments = freeze(server.pid)
        answer = finish(process, out)
    assert answer.code in (0, 4, 6), answer.err
    one = answer.study.client()
    zero = (one["started_s"] + one["warmup_s"] + one["calibration"]["seconds"]) * 1e6
    return answer, Freeze(*(moment - zero for moment in moments))


Range = tuple[float, float]
"""At least and at most: a freeze of uncertain edges."""


def figures(latency: Floats) -> dict[str, float]:
    table = {n: float(np.quantile(latency, level, method="inverted_cdf")) for n, level in LEVELS.items()}
    return table | {"mean": float(latency.mean())}


def arithmetic(scheduled: Floats, latency: Floats, frozen: Freeze) -> tuple[dict[str, Range], float, float]:
    """What the freeze must have made of these due times, at least and at most.

    Also how late the first reply after it was, and how long the server takes for a request of the backlog.

    Requests due outside keep the latency they had; one due inside waits for the end, for those due before it (at the
    speed at which a request is served at best), and takes the usual time.
    """
    done = scheduled + latency
    inside = (scheduled < frozen.end) & (done > frozen.begin + frozen.edge)
    usual = float(np.median(latency[~inside]))
    drain = np.sort(done[inside])
    each = (drain[-1] - drain[0]) / max(1, len(drain) - 1)
    late = float(drain[0] - frozen.end)

    def let_go(at: float) -> dict[str, float]:
        expected = latency.copy()
        expected[inside] = at - scheduled[inside] + usual + each * np.arange(inside.sum())
        return figures(expected)

    return ranges(let_go(frozen.again), let_go(frozen.end)), late, each


def closed_form(outside: Floats, frozen: Freeze, each: float) -> dict[str, Range]:
    """The same for arrivals at even distances, from rate and lengths alone."""
    usual, total = float(np.median(outside)), SECONDS * 1e6
    slope = 1.0 - each * RATE / 1e6

    def lasting(length: float) -> dict[str, float]:
        share = length / total
        mean = float(outside.mean()) * (1.0 - share) + share * (length * (1.0 - slope / 2.0) + usual)
        table = {name: length - slope * (1.0 - level) * total + usual for name, level in LEVELS.items()}
        return table | {"mean": mean}

    return ranges(*map(lasting, frozen.lengths))


def ranges(least: dict[str, float], most: dict[str, float]) -> dict[str, Range]:
    return {name: (least[name], most[name]) for name in least}


def off(found: dict[str, float], expected: dict[str, Range]) -> dict[str, float]:
    """Relative error of each figure: none within its range."""
    return {name: found[name] / np.clip(found[name], *expected[name]) - 1.0 for name in expected}


def judge(answer: Answer, frozen: Freeze, arrivals: str) -> Finding:
    """What the study shows of the freeze, and what it should."""
    rows = answer.study.samples()
    counts = answer.result["counts"]
    assert len(rows) == counts["scheduled"] == counts["completed"], "every request is kept and answered"
    assert 0.5e6 < frozen.begin < frozen.end < SECONDS * 1e6 - 0.5e6, "the freeze lies inside the measurement"
    scheduled = rows["scheduled_ns"].to_numpy() / 1e3
    latency = rows["completed_ns"].to_numpy() / 1e3 - scheduled
    expected, late, each = arithmetic(scheduled, latency, frozen)
    found = {name: answer.result["runs"][0]["latency_us"][name] for name in expected}
    errors = off(found, expected)
    outside = latency[(scheduled >= frozen.end) | (scheduled + latency <= frozen.begin + frozen.edge)]
    if arrivals == "deterministic":
        closed = closed_form(outside, frozen, each)
        errors |= {f"{name}, closed form": error for name, error in off(found, closed).items()}
    said = {name: f"{error:+.2%}" for name, error in errors.items()}
    usual = float(np.median(outside))
    line = (
        f"{arrivals}, frozen for {frozen.lengths[1] / 1e3:.3f} ms, first reply {late:.0f} us later, {each:.1f} us a request of"
        f" the backlog, {usual:.1f} of one alone, edges within {frozen.edge:.0f} us: {found} us, off by {said}"
    )
    blurred = list(edges(answer, frozen, late))
    right = each < usual and max(map(abs, errors.values())) <= TOLERANCE
    # That the server was stopped and let go late is this test's own doing, or its host's.
    return Finding(bool(right) and not blurred, "; ".join([line, *blurred]), spoiled=frozen.edge > EDGE_US)


def edges(answer: Answer, frozen: Freeze, late: float) -> Iterator[str]:
    """Where the freeze had no sharp edges, or the client was late itself; on a calm host it is ours."""
    send_delay = answer.result["runs"][0]["send_delay_us"]["p99"]
    if send_delay > SEND_DELAY_US:
        yield f"send delay p99 {send_delay:.0f} us, the limit is {SEND_DELAY_US:.0f}"
    if late > EDGE_US:
        yield f"first reply {late:.0f} us after the freeze, the limit is {EDGE_US:.0f}"
    if frozen.edge > EDGE_US:
        yield f"stopped and let go within {frozen.edge:.0f} us, the limit is {EDGE_US:.0f}"


@pytest.mark.memcached
@pytest.mark.parametrize("arrivals", ["deterministic", "exponential"])
def test_a_freeze_shows_in_full(arrivals: str, claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()
    claim.settle(
        f"a freeze of {FREEZE_S * 1e3:g} ms shows in full, {arrivals} arrivals",
        lambda: judge(*measure_frozen(arrivals, tmp_path / str(next(tries))), arrivals),
        limits.BEARS_MORE,
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
    assert max(map(abs, off(figures(whole), right).values())) < 0.005
    least = {name: low for name, (low, _) in right.items()}
    assert max(map(abs, off(least, closed_form(usual, frozen, each)).values())) < 0.01
    omitted = usual.copy()
    omitted[np.flatnonzero(inside)[0]] = frozen.lengths[1]
    assert min(off(figures(omitted), right).values()) < -0.9
    shorter = whole.copy()
    shorter[inside] *= 0.97
    assert min(off(figures(shorter), right).values()) < -TOLERANCE
