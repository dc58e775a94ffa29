"""The bias of a closed loop, shown on a server whose truth is known (Treadmill II-A, Figure 1).

At 80 % load an M/M/1 server has on average 4 requests outstanding, and one time in ten more than 9. A closed
loop with 4 connections never has more than 4. It waits when users would not, and so measures a shorter tail.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from measuring import measure, need_two_cpus, parse_managed, run_server
from queueing import mm1_sojourn

from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

SERVICE_US, LOAD, CONNECTIONS = 200.0, 0.8, 4


def test_a_closed_loop_reports_a_shorter_tail_and_fewer_outstanding(claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()
    claim.settle(
        "a closed loop hides at least a quarter of the tail, and has fewer requests outstanding",
        lambda: attempt(tmp_path / str(next(tries))),
        limits.MAX_INTERFERENCE_LOOSE,
    )


def attempt(tmp_path: Path) -> Finding:
    """Measure both loops once."""
    tmp_path.mkdir()
    server_cpu, client_cpu = need_two_cpus()
    (tmp_path / "few.json").write_text('{"keys": 10}')

    def run_loop(name: str, *loop: str) -> dict[str, Any]:
        """One run of five seconds at four fifths of the server's capacity."""
        options = [
            "--rate",
            str(LOAD / SERVICE_US * 1e6),
            "--runs",
            "1",
            "--duration",
            "5s",
            "--warmup",
            "1s",
        ]
        options += ["--client-cpus", str(client_cpu), "--quantiles", "50,99", "--timeout", "20s"]
        service = f'{{"kind": "exponential", "mean_us": {SERVICE_US}}}'
        with run_server(parse_managed(f"synth?service={service}&idle=spin"), cpus=[server_cpu]) as server:
            target = f"memcached://{server.address}"
            answer = measure(target, tmp_path / name, "--workload", tmp_path / "few.json", *options, *loop)
        assert answer.code in (0, 4, 6), answer.err
        assert answer.result["counts"]["scheduled"] == answer.result["counts"]["completed"]
        return answer.result

    def outstanding(result: dict[str, Any]) -> tuple[float, float]:
        """Mean and maximum number of requests outstanding at an arrival."""
        values, share = np.array(result["outstanding"]["values"]), np.array(result["outstanding"]["share"])
        return float(values @ share), float(values[share > 0].max())

    open_loop = run_loop("open")
    closed_loop = run_loop("closed", "--closed", "--connections", str(CONNECTIONS))
    (open_mean, open_most), (closed_mean, closed_most) = outstanding(open_loop), outstanding(closed_loop)
    p99 = [result["runs"][0]["latency_us"]["p99"] for result in (open_loop, closed_loop)]
    rates = [result["throughput"]["achieved"] for result in (open_loop, closed_loop)]
    figure = (
        f"p99 open {p99[0]:.0f} us (M/M/1: {mm1_sojourn(LOAD, SERVICE_US, 0.99):.0f}), closed {p99[1]:.0f} us;"
        f" outstanding: mean {open_mean:.2f} (M/M/1: 4) and {closed_mean:.2f}, most {open_most:.0f} and"
        f" {closed_most:.0f}; achieved {rates[0]:.0f} and {rates[1]:.0f} a second"
    )
    assert "closed-loop" in {reason["code"] for reason in closed_loop["reasons"]}, (
        "the result names the closed loop"
    )
    held = p99[1] < 0.75 * p99[0] and closed_mean < 0.75 * open_mean
    return Finding(held and closed_most < CONNECTIONS < open_most, figure)
