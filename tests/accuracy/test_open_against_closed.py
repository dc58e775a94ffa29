"""The bias of the closed loop, shown on a server whose truth is known (Treadmill II-A, Figure 1).

At 80 % load an M/M/1 server has on average 4 requests outstanding, and one time in ten more than 9. A closed
loop with 4 connections can never have more than 4: it waits when users would not, and so sees a shorter tail.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from measuring import managed, measure, need_two_processors, running
from queueing import mm1_sojourn

from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

SERVICE_US, LOAD, CONNECTIONS = 200.0, 0.8, 4


def test_a_closed_loop_reports_a_lower_tail_and_fewer_outstanding(claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()
    claim.settle(
        "a closed loop hides at least a quarter of the tail, and meets fewer outstanding",
        lambda: attempt(tmp_path / str(next(tries))),
        limits.BEARS_MORE,
    )


def attempt(tmp_path: Path) -> Finding:
    """Both loops once."""
    tmp_path.mkdir()
    server_cpu, client_cpu = need_two_processors()
    (tmp_path / "few.json").write_text('{"keys": 10}')

    def figures(name: str, *more: str) -> dict[str, Any]:
        """One run of five seconds at four fifths of what the server can serve."""
        words = ["--rate", str(LOAD / SERVICE_US * 1e6), "--runs", "1", "--duration", "5s", "--warmup", "1s"]
        words += ["--client-cpus", str(client_cpu), "--quantiles", "50,99", "--timeout", "20s"]
        service = f'{{"kind": "exponential", "mean_us": {SERVICE_US}}}'
        with running(managed(f"synth?service={service}&idle=spin"), cpus=[server_cpu]) as server:
            target = f"memcached://{server.address}"
            answer = measure(target, tmp_path / name, "--workload", tmp_path / "few.json", *words, *more)
        assert answer.code in (0, 4, 6), answer.err
        assert answer.result["counts"]["scheduled"] == answer.result["counts"]["completed"]
        return answer.result

    def met(result: dict[str, Any]) -> tuple[float, float]:
        """Mean and maximum of how many requests an arrival met."""
        values, share = np.array(result["outstanding"]["values"]), np.array(result["outstanding"]["share"])
        return float(values @ share), float(values[share > 0].max())

    open_loop = figures("open")
    closed = figures("closed", "--closed", "--connections", str(CONNECTIONS))
    (open_mean, open_most), (closed_mean, closed_most) = met(open_loop), met(closed)
    p99 = [result["runs"][0]["latency_us"]["p99"] for result in (open_loop, closed)]
    achieved = [result["throughput"]["achieved"] for result in (open_loop, closed)]
    figure = (
        f"p99 open {p99[0]:.0f} us (M/M/1: {mm1_sojourn(LOAD, SERVICE_US, 0.99):.0f}), closed {p99[1]:.0f} us;"
        f" outstanding met: mean {open_mean:.2f} (M/M/1: 4) and {closed_mean:.2f}, most {open_most:.0f} and"
        f" {closed_most:.0f}; achieved {achieved[0]:.0f} and {achieved[1]:.0f} a second"
    )
    assert "closed-loop" in {reason["code"] for reason in closed["reasons"]}, "it says so itself"
    held = p99[1] < 0.75 * p99[0] and closed_mean < 0.75 * open_mean
    return Finding(held and closed_most < CONNECTIONS < open_most, figure)
