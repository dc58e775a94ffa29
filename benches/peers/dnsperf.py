"""dnsperf beside us at one unbound: questions a second flat out, and by second of the client's processor.

``python -m benches.peers.dnsperf [SECONDS] [ROUNDS]``: rounds in turn, medians and ratios; the server on the
first processor, the client on the second. dnsperf is not held against a capture, as the contest holds others:
it says nothing of single questions.
"""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from hindmost import _engine
from hindmost.targets import ManagedServer, preset

CONNECTIONS = 16
NAME = "www.example"


def dnsperf(address: str, seconds: float, folder: Path) -> float:
    """Questions a second; one thread, sixteen sockets, sixteen questions at once, as ours."""
    host, _, port = address.rpartition(":")
    queries = folder / "queries.txt"
    queries.write_text(f"{NAME} A\n")
    command = ["dnsperf", "-s", host, "-p", port, "-d", str(queries), "-l", f"{seconds:g}"]
    command += ["-T", "1", "-c", str(CONNECTIONS), "-q", str(CONNECTIONS)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"Queries per second:\s+([0-9.]+)", told)
    if found is None:
        raise SystemExit(f"dnsperf said nothing of its rate:\n{told}")
    return float(found[1])


def ours(address: str, seconds: float, folder: Path) -> float:
    """The same by one instance of one thread that sleeps where nothing comes."""
    plan = {
        "schema": "hindmost.plan/1",
        "seed": 1,
        "target": {"protocol": "dns", "address": address},
        "load": {"loop": "closed"},
        "connections": CONNECTIONS,
        "pacing": "sleep",
        "stamp_every": 0,
        "workload": {"kind": "dns", "queries": [{"name": NAME}], "edns_bytes": None},
        "phases": {"warmup": {"fixed": {"seconds": 0.1}}, "calibration_s": 0.1, "measure_s": seconds},
    }
    child = "import sys; from hindmost import _engine; print(_engine.run_instance(sys.argv[1], sys.argv[2]))"
    command = [sys.executable, "-c", child, _engine.check_plan(json.dumps(plan)), str(folder)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(json.loads(told)["achieved_per_s"])


def measured(run: Callable[[str, float, Path], float], address: str, seconds: float) -> tuple[float, float]:
    """Questions a second, and by second of the client's processor."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        rate = run(address, seconds, Path(folder))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return rate, rate * seconds / spent


def main() -> int:
    """Make the rounds and print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    server_cpu, client_cpu = sorted(os.sched_getaffinity(0))[:2]
    found: dict[str, list[tuple[float, float]]] = {"hindmost": [], "dnsperf": []}
    with ManagedServer(preset("unbound"), cpus=[server_cpu]) as server:
        os.sched_setaffinity(0, {client_cpu})
        for _ in range(rounds):
            found["hindmost"].append(measured(ours, server.address, seconds))
            found["dnsperf"].append(measured(dnsperf, server.address, seconds))
    middle = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)]
        for name, rows in found.items()
    }
    print(f"{'':10} {'a second':>10} {'a core second':>14}   medians of {rounds} rounds of {seconds:g} s")
    for name, (rate, by_core) in middle.items():
        print(f"{name:10} {rate:10.0f} {by_core:14.0f}")
    ratios = [a / b for (_, a), (_, b) in zip(found["hindmost"], found["dnsperf"], strict=True)]
    rates = [a / b for (a, _), (b, _) in zip(found["hindmost"], found["dnsperf"], strict=True)]
    for what, each in (("a second", rates), ("a core second", ratios)):
        print(
            f"ours over dnsperf's, {what}: {statistics.median(each):.2f} [{min(each):.2f}, {max(each):.2f}]"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
