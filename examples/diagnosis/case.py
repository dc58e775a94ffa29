"""A diagnosis as an engineer on call would do it: know the normal latency, notice a slowdown, diagnose it.

inject.py interference -- python case.py [--correct] [--out FILE.json] [options of hindmost diagnose]
"""

import json
import os
import socket
import statistics
import subprocess
import sys
from pathlib import Path

from hindmost.commands.diagnose.demand import Work
from hindmost.commands.diagnose.windows import Windows
from hindmost.commands.watch.application import find_application
from hindmost.commands.watch.latency import latency_from
from hindmost.commands.watch.probe import limit_probe_rate, start_probe

HURTS = 1.5
"""Factor above normal; a smaller slowdown is no anomaly on this host at this time."""


def probe_server(address: str) -> tuple[float, float]:
    """Return the median p95 over windows of a probe, and the CPUs that the server uses meanwhile."""
    pid = find_application(address).pid
    assert pid is not None
    work = Work(pid)
    source = latency_from(find_application(address), probe="200/s")
    assert source is not None
    with start_probe(limit_probe_rate(source)) as probe:
        windows = Windows(probe, 0.95, 0.5, 0.15)
        p95_us = statistics.median(windows.measure() for _ in range(7))
    return p95_us, work.processors()


def main(words: list[str]) -> int:
    """Measure, request the anomaly with `go`, measure again, diagnose; end with one line of JSON."""
    address, policy = os.environ["ADDRESS"], os.environ["POLICY"]
    out = Path(words.pop(words.index("--out") + 1)) if "--out" in words else None
    words = [word for word in words if word != "--out"]
    normal, work = probe_server(address)
    link = socket.socket(fileno=int(os.environ["GO"]))
    link.sendall(b"go\n")
    link.recv(10)
    now, _ = probe_server(address)
    print(f"p95 {normal:.0f} us before, {now:.0f} us now (x{now / normal:.1f})", file=sys.stderr)
    told = {"normal_us": normal, "slow_us": now, "hurts": now > HURTS * normal, "diagnosis": None}
    if told["hurts"]:
        asked = [
            "hindmost",
            "diagnose",
            address,
            "--normal",
            f"{normal:.0f}us",
            "--normal-work",
            f"{work:.4f}",
            "--policy",
            policy,
            "--json",
            *words,
        ]
        done = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=False)
        told["diagnosis"] = json.loads(done.stdout) if done.stdout else None
        told["after_us"], _ = probe_server(address)
    text = json.dumps(told)
    print(text, flush=True)
    if out is not None:
        out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
