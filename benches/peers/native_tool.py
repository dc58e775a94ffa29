"""Hindmost compared with a protocol's own tool at one server, flat out: requests/s.

Rounds alternate; the table has medians and ratios, also per second of the client's CPU; server and client
have a CPU each. Our CPU time is the worker's over the measurement, as in the contest, because interpreter
start, warm-up and calibration would be a tenth of two seconds. A tool's CPU time is its whole process's. The
tools are not compared with a capture, as in the contest: they do not report individual requests.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.core.targets import ManagedServer, TargetSpec

CONNECTIONS = 16

Tool = Callable[[str, float, Path], float]
"""Function of address, seconds and a private folder that returns requests/s."""
Ours = Callable[[str, float, Path], tuple[float, float]]
"""The same, which also returns the fraction of a CPU that the worker used."""


def read_output(command: list[str]) -> str:
    """Run a command and return its output."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def ours(target: dict[str, Any], workload: dict[str, Any]) -> Ours:
    """Return a function that runs one client with one thread, which sleeps when it has nothing to do."""

    def run(address: str, seconds: float, folder: Path) -> tuple[float, float]:
        plan = {
            "schema": "hindmost.plan/1",
            "seed": 1,
            "target": {**target, "address": address},
            "load": {"loop": "closed"},
            "connections": CONNECTIONS,
            "pacing": "sleep",
            "stamp_every": 0,
            "workload": workload,
            "phases": {"warmup": {"fixed": {"seconds": 0.1}}, "calibration_s": 0.1, "measure_s": seconds},
        }
        child = (
            "import sys; from hindmost import _engine; print(_engine.run_client(sys.argv[1], sys.argv[2]))"
        )
        command = [sys.executable, "-c", child, _engine.check_plan(json.dumps(plan)), str(folder)]
        said = json.loads(read_output(command))
        (thread,) = said["threads"]
        return float(said["achieved_per_s"]), float(thread["cpu_share"])

    return run


def _of_us(run: Ours, address: str, seconds: float) -> tuple[float, float]:
    """Return requests/s, and requests per second of the worker's CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        rate, share = run(address, seconds, Path(folder))
    return rate, rate / share


def _of_tool(run: Tool, address: str, seconds: float) -> tuple[float, float]:
    """Return requests/s, and requests per second of the tool's CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        rate = run(address, seconds, Path(folder))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return rate, rate * seconds / spent


def rounds_of(
    server: TargetSpec, name: str, tool: Tool, us: Ours, seconds: float, rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """Run the rounds; return, by client, requests/s and requests per second of the client's CPU time."""
    all_cpus = os.sched_getaffinity(0)
    server_cpu, client_cpu = sorted(all_cpus)[:2]
    found: dict[str, list[tuple[float, float]]] = {"hindmost": [], name: []}
    with ManagedServer(server, cpus=[server_cpu]) as started:
        os.sched_setaffinity(0, {client_cpu})
        try:
            for _ in range(rounds):
                found["hindmost"].append(_of_us(us, started.address, seconds))
                found[name].append(_of_tool(tool, started.address, seconds))
        finally:
            os.sched_setaffinity(0, all_cpus)
    return found


def contest(server: TargetSpec, name: str, tool: Tool, us: Ours) -> int:
    """Run the rounds and print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    found = rounds_of(server, name, tool, us, seconds, rounds)
    print(f"{'':10} {'a second':>10} {'a core second':>14}   medians of {rounds} rounds of {seconds:g} s")
    for who, rows in found.items():
        rate, by_core = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"{who:10} {rate:10.0f} {by_core:14.0f}")
    for at, what in enumerate(("a second", "a core second")):
        each = [one[at] / other[at] for one, other in zip(found["hindmost"], found[name], strict=True)]
        span = f"[{min(each):.2f}, {max(each):.2f}]"
        print(f"ours over {name}'s, {what}: {statistics.median(each):.2f} {span}")
    return 0
