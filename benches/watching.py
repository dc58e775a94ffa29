"""Cost of a watch, and its effect on a service of 100 us: ``python benches/watching.py``.

Counters of the kernel for the watch's process: CPU time of all threads, bytes written, bytes on the loopback
of a private network (as root). For one application that sleeps, with a log, and with probes; for ten
services in one daemon; for an application with 1,000 threads, and for one next to 300 processes. Then the p99
of a server with a service time of 100 us, in windows with the watch running and stopped, in pairs of random
order; the interval of the ratio decides whether the effect is below the margin, and is printed in any case.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hindmost import _engine
from hindmost.commands.watch.ring import read_ring
from hindmost.commands.watch.services import ServiceFile, add_service
from hindmost.core.targets.ports import pick_free_port
from hindmost.stats.runs.equivalence import equivalence

MARGIN = 0.005
SETTLED = 10
SERVICES = 10
INSIDE = "HINDMOST_BENCH_NETWORK"
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
    return [sys.executable, "-c", run, "watch", *options]


@dataclass(frozen=True)
class Account:
    """Counters of the kernel for a process; CPU time in seconds."""

    cpu_s: float
    written: int
    to_disk: int
    network: int

    @classmethod
    def read(cls, pid: int) -> Account:
        threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
        io = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()
        loopback = next(line.split(":")[1].split() for line in lines if line.strip().startswith("lo:"))
        cpu_ns = sum(int(one.read_text().split()[0]) for one in threads)
        return cls(cpu_ns / 1e9, int(io["wchar"]), int(io["write_bytes"]), int(loopback[0]))


def cost(seconds: int, rings: Path, *options: str, services: int = 1) -> str:
    """Return the cost of a watch per service, after the first ten seconds, in which files are opened."""
    for ring in rings.glob("*.ring"):
        ring.unlink()
    with child(*watch(*options)) as process:
        time.sleep(SETTLED)
        before = Account.read(process.pid)
        time.sleep(seconds)
        after = Account.read(process.pid)
        process.send_signal(signal.SIGINT)
        process.wait()
    seen = [read_ring(ring) for ring in rings.glob("*.ring")]
    assert len(seen) == services
    own = sum(float(np.nanmean(one.column("own.cpu_us")[SETTLED:])) for one in seen) / 1e6
    cpu = (after.cpu_s - before.cpu_s) / seconds
    rate = [
        (getattr(after, name) - getattr(before, name)) / seconds / services
        for name in ("written", "to_disk", "network")
    ]
    return (
        f"{cpu / services:8.3%} of a processor (by its own account {own / services:.3%}),"
        f" {rate[0]:4.0f} B/s written, {rate[1]:4.0f} B/s to disk, {rate[2]:5.0f} B/s on loopback"
    )


def cost_of_process(seconds: int, folder: Path, pid: int, *options: str) -> str:
    """Return the cost of the watch of one process."""
    ring = folder / "rings/cost.ring"
    ring.parent.mkdir(exist_ok=True)
    return cost(seconds, ring.parent, "start", str(pid), "--ring", str(ring), "--size", "1", *options)


def crowds(seconds: int) -> Iterator[str]:
    """Yield the cost for an application with many threads, and for one next to many processes."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        many = stack.enter_context(child(sys.executable, "-c", THREADS))
        time.sleep(1.0)
        yield f"1,000 threads      {cost_of_process(seconds, folder, many.pid, '--probe', '0')}"
        sleeper = stack.enter_context(child("sleep", "1000000"))
        for _ in range(300):
            stack.enter_context(_sleeper())
        yield f"next to 300        {cost_of_process(seconds, folder, sleeper.pid, '--probe', '0')}"


def costs(seconds: int) -> Iterator[str]:
    """Yield the cost of each source of latency."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        port = pick_free_port("127.0.0.1")
        server = stack.enter_context(child("memcached", "-l", "127.0.0.1", "-p", str(port), "-u", "nobody"))
        yield f"no latency         {cost_of_process(seconds, folder, server.pid, '--probe', '0')}"
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
        yield f"log of 100/s       {cost_of_process(seconds, folder, server.pid, '--log', str(log))}"
        stop.set()
        writer.join()
        url = f"memcached://127.0.0.1:{port}"
        for rate in ("auto", "25", "100"):
            line = cost_of_process(seconds, folder, server.pid, "--probe", rate, "--probe-address", url)
            yield f"probe of {rate:>4}      {line}"


def daemons(seconds: int) -> Iterator[str]:
    """Yield the cost per service of a daemon that watches ten services, without a probe and with one each."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        ports = []
        for _ in range(SERVICES):
            ports.append(str(pick_free_port("127.0.0.1")))
            stack.enter_context(child("memcached", "-l", "127.0.0.1", "-p", ports[-1], "-u", "nobody"))
        for probe in ("0", "auto"):
            services, rings = Path(name, f"services-{probe}"), Path(name, f"rings-{probe}")
            for port in ports:
                service = ServiceFile(application=f"memcached://127.0.0.1:{port}", probe=probe, size=1)
                add_service(services, f"cache-{port}", service)
            line = cost(
                seconds, rings, "serve", "--folder", str(services), "--rings", str(rings), "--port", "0",
                services=SERVICES,
            )  # fmt: skip
            yield f"1 of 10, probe {probe:>4} {line}"


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
            child(*watch("start", str(server.pid), "--probe", "0", "--ring", ring, "--size", "1"))
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


def enter_own_network() -> None:
    """Start again in a private network, if that is allowed: no other program uses its loopback."""
    if os.environ.get(INSIDE):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    elif os.geteuid() == 0 and shutil.which("ip") and shutil.which("unshare"):
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--window", type=float, default=1.0)
    parser.add_argument("--rate", type=float, default=2000.0)
    parser.add_argument("--only", choices=["costs", "daemons", "crowds", "moved"])
    asked = parser.parse_args()
    enter_own_network()
    for kind, lines in (("costs", costs), ("daemons", daemons), ("crowds", crowds)):
        if asked.only in (None, kind):
            for line in lines(asked.seconds):
                print(line, flush=True)
    if asked.only in (None, "moved"):
        print(compare_p99(asked.pairs, asked.window, asked.rate))


if __name__ == "__main__":
    main()
