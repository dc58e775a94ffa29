"""Cost of a watch, and its effect on a service of 100 us: ``python benches/watching.py``.

The watch's own account (CPU time of all its threads, bytes written to the ring) for an application that
sleeps, one whose latency comes from a log, one with a probe, one with 1,000 threads, and one next to 300
processes. Then the p99 of a server with a service time of 100 us, in windows with the watch running and
stopped, in pairs of random order; the interval of the ratio decides whether the effect is below the margin,
and is printed in any case.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from hindmost import _engine
from hindmost.commands.watch.ring import read_ring
from hindmost.core.targets.ports import pick_free_port
from hindmost.stats.runs.equivalence import equivalence

MARGIN = 0.005
SETTLED = 10
THREADS = """
import threading, time
for at in range(1000):
    threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()
for at in range(4):  # some that do work
    threading.Thread(target=lambda: [time.sleep(.02) for _ in iter(int, 1)], daemon=True).start()
time.sleep(1e6)
"""


@contextmanager
def child(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process until the end of the block."""
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            time.sleep(0.5)
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()


def watch(*options: str) -> list[str]:
    run = "import sys; from hindmost.cli import main; sys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-c", run, "watch", "start", *options]


def cost(folder: Path, seconds: int, pid: int, *options: str) -> str:
    """Return one watch's account of itself after the first ten seconds, in which files are opened."""
    ring = folder / "cost.ring"
    ring.unlink(missing_ok=True)
    subprocess.run(
        watch(str(pid), "--duration", f"{seconds + SETTLED}s", "--ring", str(ring), "--size", "1", *options),
        capture_output=True,
        check=True,
    )
    seen = read_ring(ring)
    share, rate = (
        float(np.nanmean(seen.column(name)[SETTLED:])) for name in ("own.cpu_us", "own.ring_bytes")
    )
    return f"{share / 1e6:8.3%} of a processor, {rate:5.0f} B/s over {len(seen.at_s) - SETTLED} s"


def crowds(seconds: int) -> Iterator[str]:
    """Yield the cost for an application with many threads, and for one next to many processes."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        many = stack.enter_context(child(sys.executable, "-c", THREADS))
        time.sleep(1.0)
        yield f"1,000 threads      {cost(folder, seconds, many.pid, '--probe', '0')}"
        one = stack.enter_context(child("sleep", "1000000"))
        for _ in range(300):
            stack.enter_context(_sleeper())
        yield f"next to 300        {cost(folder, seconds, one.pid, '--probe', '0')}"


def costs(seconds: int) -> Iterator[str]:
    """Yield the cost of each source of latency."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        port = pick_free_port("127.0.0.1")
        server = stack.enter_context(child("memcached", "-l", "127.0.0.1", "-p", str(port), "-u", "nobody"))
        yield f"no latency         {cost(folder, seconds, server.pid, '--probe', '0')}"
        log = folder / "access.log"
        log.touch()
        stop = threading.Event()

        def write() -> None:
            with log.open("a") as file:
                while not stop.wait(0.1):
                    file.write('127.0.0.1 - - [t] "GET / HTTP/1.1" 200 12 "-" "-" 0.004\n' * 10)
                    file.flush()

        writer = threading.Thread(target=write)
        writer.start()
        yield f"log of 100/s       {cost(folder, seconds, server.pid, '--log', str(log))}"
        stop.set()
        writer.join()
        url = f"memcached://127.0.0.1:{port}"
        for rate in ("25", "100"):
            line = cost(folder, seconds, server.pid, "--probe", rate, "--probe-address", url)
            yield f"probe of {rate:>3}/s     {line}"


@contextmanager
def _sleeper() -> Iterator[None]:
    with subprocess.Popen(["sleep", "1000000"]) as process:
        try:
            yield
        finally:
            process.kill()


def compare_p99(pairs: int, window_s: float, rate: float) -> str:
    """Return the ratio of the p99 of a 100 us service with the watch to the p99 without it."""
    port = pick_free_port("127.0.0.1")
    config = {
        "address": f"127.0.0.1:{port}",
        "protocol": "memcached",
        "threads": 1,
        "service": {"kind": "deterministic", "mean_us": 100},
        "idle": "block",
        "occupy": "wall",
        "seed": 1,
        "memory_mib": 64,
        "log": "",
        "clone": "",
    }
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        command = (sys.executable, "-P", "-m", "hindmost.agent", "synth", json.dumps(config))
        server = stack.enter_context(child(*command))
        ring = str(Path(name) / "moved.ring")
        sampler = stack.enter_context(
            child(*watch(str(server.pid), "--probe", "0", "--ring", ring, "--size", "1"))
        )
        probe = _engine.Prober(
            json.dumps({"address": f"127.0.0.1:{port}", "protocol": "memcached", "rate": rate})
        )
        draw = random.Random(1)
        p99: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(pairs):
            for on in draw.sample((True, False), 2):
                os.kill(sampler.pid, signal.SIGCONT if on else signal.SIGSTOP)
                time.sleep(0.05)
                probe.take()
                time.sleep(window_s)
                taken = [latency / 1e3 for _, latency in probe.take()[0]]
                p99[on].append(float(np.quantile(taken, 0.99)))
        probe.end()
    found = equivalence(p99[True], p99[False], MARGIN)
    return (
        f"p99 {np.median(p99[False]):.0f} us without; with the watch x{found.ratio:.4f}"
        f" [{found.low:.4f}, {found.high:.4f}] (90 %, {pairs} pairs of {window_s:g} s):"
        f" {found.outcome} at a margin of {MARGIN:.1%}"
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--window", type=float, default=1.0)
    parser.add_argument("--rate", type=float, default=2000.0)
    parser.add_argument("--only", choices=["costs", "crowds", "moved"])
    asked = parser.parse_args()
    for kind, lines in (("costs", costs), ("crowds", crowds)):
        if asked.only in (None, kind):
            for line in lines(asked.seconds):
                print(line, flush=True)
    if asked.only in (None, "moved"):
        print(compare_p99(asked.pairs, asked.window, asked.rate))


if __name__ == "__main__":
    main()
