"""HTTP/2 compared with h2load (Debian's nghttp2-client): ``python benches/http2.py --rounds 5``.

Both drive the preset nginx over HTTP/2 without TLS, in a closed loop with the same numbers of streams and
connections, in alternation, the server on the first CPU and the client on the second. The metric is requests
per second of the client's CPU time, because the server saturates first.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from hindmost.core.targets import ManagedServer, preset

PAGE = "/index.html"


def _ours(address: str, asked: argparse.Namespace, cpu: int) -> tuple[float, float]:
    """Return requests/s, and requests per second of CPU time."""
    plan = {
        "schema": "hindmost.plan/1",
        "seed": 1,
        "target": {"protocol": "http2", "address": address},
        "load": {"loop": "closed"},
        "connections": asked.connections,
        "in_flight": asked.streams,
        "threads": [{"cpu": cpu}],
        "pacing": "sleep",
        "stamp_every": 0,
        "workload": {"kind": "http", "paths": [PAGE]},
        "phases": {
            "warmup": {"fixed": {"seconds": 0.3}},
            "calibration_s": 0.1,
            "measure_s": asked.seconds,
        },
        "keep": {"samples": 0, "worst": 1},
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        path.write_text(json.dumps(plan), encoding="utf-8")
        program = str(Path(sys.executable).parent / "hindmost")
        words = [program, "load", str(path), "--out", f"{folder}/out"]
        said = json.loads(subprocess.run(words, capture_output=True, check=True, text=True).stdout)
    if said["counts"]["completed"] != said["counts"]["scheduled"]:
        sys.exit(f"error: some requests failed: {said['counts']}")
    (thread,) = said["threads"]
    return said["achieved_per_s"], said["achieved_per_s"] / thread["cpu_share"]


def _h2load(address: str, asked: argparse.Namespace, cpu: int) -> tuple[float, float]:
    """Return the same for h2load, by its own count; its start-up is too short to be subtracted."""
    words = ["h2load", "-t", "1", "-c", str(asked.connections), "-m", str(asked.streams)]
    words += ["-D", f"{asked.seconds:g}", f"http://{address}{PAGE}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pinned = ["taskset", "-c", str(cpu), *words]
    out = subprocess.run(pinned, capture_output=True, check=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = re.search(r"^requests: .* ([0-9]+) succeeded, 0 failed", out, re.MULTILINE)
    if done is None:
        sys.exit(f"error: h2load failed:\n{out}")
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return int(done[1]) / asked.seconds, int(done[1]) / cpu_s


def rounds_of(asked: argparse.Namespace) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Return, for ours and for h2load, requests/s and requests per second of CPU time, by round."""
    if shutil.which("h2load") is None:
        sys.exit("error: h2load is not installed\nhint: apt-get install nghttp2-client")
    first, second = sorted(os.sched_getaffinity(0))[:2]
    spec = preset("nginx").with_options({"protocol": "http2", "listen": "reuseport http2"})
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    for number in range(asked.rounds):
        with ManagedServer(spec, cpus=[first]) as server:
            turns = [(ours, _ours), (theirs, _h2load)]
            for found, drive in turns if number % 2 == 0 else turns[::-1]:
                found.append(drive(server.address, asked, second))
        print(f"round {number}: hindmost {ours[-1]}, h2load {theirs[-1]}", file=sys.stderr, flush=True)
    return ours, theirs


def main() -> None:
    """Print each round, then the medians and the median of the rounds' ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--streams", type=int, default=25, help="requests in flight on each connection")
    asked = parser.parse_args()
    ours, theirs = rounds_of(asked)
    for at, what in enumerate(("requests a second", "requests for a second of processor time")):
        ratio = statistics.median(one[at] / other[at] for one, other in zip(ours, theirs, strict=True))
        medians = [statistics.median(one[at] for one in found) for found in (ours, theirs)]
        print(f"{what}: hindmost {medians[0]:.0f}, h2load {medians[1]:.0f}, ratio by rounds {ratio:.2f}")


if __name__ == "__main__":
    main()
