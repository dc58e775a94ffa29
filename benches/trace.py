"""Cost of a trace to a server: ``python benches/trace.py [--server nginx] [--rate 45k] [--only WAY ...]``.

::

    load     ───────────────────────────────────────────────────  open loop, constant rate and connections
    trace        ██    ██          ██    ██                       each pair: a stretch with, a stretch without
    pair      off on │ on off │  off on │ on off                  which comes first is drawn

Each stretch measures the CPU time of the server per request, by the scheduler's and the server's own counts.
The cost is the median of the pairs' ratios, with its 95 % interval, and as a multiple of the null probes'.
Server and client have a CPU each. ``benches/trace_stamps.py`` compares stamps with the kernel's own.

=========== ==============================================================================================
null        all probes, which return at their first comparison, and stamps of packets: the price of the hooks
default     what ``hindmost trace`` does: windows chosen for 2 % (after a first look, not measured here)
sums        the same for a trace that is always on: windows chosen for 1 %
exchange    all requests, without parsing
parser      all requests with the server's protocol (``--windows 1``)
full        the same, and each request recorded in a file (``--records``)
who         the same as parser, and the scheduler (``--who``)
connections one connection in 16
windows     one window in 16
=========== ==============================================================================================
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from hindmost import _engine
from hindmost.core.targets.ports import pick_free_port
from hindmost.core.targets.procfs import process_tree
from hindmost.core.tracing import TraceRequest, find_server
from hindmost.core.tracing.tracing import LEAST_BLOCK_S, decide_windows
from hindmost.core.tracing.windows import LONG_S, WINDOW_S
from hindmost.stats import Estimate, median_interval

SERVERS_CPU, CLIENTS_CPU = 0, 1
UNUSED_PORT = 9
SETTLE_S = 0.15
"""Time in seconds after a trace began or ended, before the measured stretch."""
WINDOWS_S = 3.0
"""Least length in seconds of a stretch with windows."""
NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 1d;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port}; location / {{ return 200 'hello'; }} location /status {{ stub_status; }}
  }}
}}
"""


@dataclass(frozen=True)
class Server:
    """A running server: its address as for `hindmost measure`, and a function that returns its number of
    requests."""

    address: str
    port: int
    pid: int
    framing: str
    count_requests: Callable[[], int]

    def used_ns(self) -> int:
        """Return the CPU time of all its processes in ns (clock_getcpuclockid(3))."""
        return sum(time.clock_gettime_ns((~one << 3) | 2) for one in process_tree(self.pid))


@contextmanager
def start_server(command: list[str], port: int) -> Iterator[int]:
    """Start a server on its CPU and wait until it accepts connections; yield its pid."""
    pinned = ["taskset", "-c", str(SERVERS_CPU), *command]
    with subprocess.Popen(pinned, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(100):
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield process.pid
        finally:
            process.terminate()


@contextmanager
def memcached(_folder: Path) -> Iterator[Server]:
    """Start memcached with one worker."""
    port = pick_free_port("127.0.0.1")
    command = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-t", "1", "-u", "nobody"]
    with start_server(command, port) as pid, socket.create_connection(("127.0.0.1", port)) as asking:

        def count_requests() -> int:
            asking.sendall(b"stats\r\n")
            text = b""
            while not text.endswith(b"END\r\n"):
                text += asking.recv(1 << 16)
            rows = dict(line.split()[1:3] for line in text.splitlines() if line.startswith(b"STAT"))
            return int(rows[b"cmd_get"]) + int(rows[b"cmd_set"])

        yield Server(f"memcached://127.0.0.1:{port}", port, pid, '"memcached"', count_requests)


@contextmanager
def nginx(folder: Path) -> Iterator[Server]:
    """Start nginx with one worker, which answers from its configuration."""
    port = pick_free_port("127.0.0.1")
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, port=port))

    def count_requests() -> int:
        with urlopen(f"http://127.0.0.1:{port}/status", timeout=20) as answer:
            return int(answer.read().split()[9])

    with start_server(["nginx", "-c", str(config)], port) as pid:
        yield Server(f"http://127.0.0.1:{port}/", port, pid, '"http"', count_requests)


SERVERS = {"memcached": memcached, "nginx": nginx}


@contextmanager
def generate_load(server: Server, rate: str, connections: int, folder: Path) -> Iterator[None]:
    """Generate load in an open loop until the end of the block."""
    words = ["measure", server.address, "--rate", rate, "--connections", str(connections), "--clients", "1"]
    words += ["--client-cpus", str(CLIENTS_CPU), "--runs", "1", "--duration", "1h", "--warmup", "500ms"]
    command = [
        sys.executable,
        "-c",
        "from hindmost.cli import main; main()",
        *words,
        "--stamps",
        "off",
        "--quiet",
        "--out",
        str(folder / "load"),
    ]
    with (
        (folder / "load.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True) as load,
    ):
        try:
            # Stored keys come first, as fast as possible.
            deadline, steady = time.monotonic() + 60, 0
            while steady < 5:
                before = server.count_requests()
                time.sleep(0.5)
                now = (server.count_requests() - before) / 0.5
                steady = steady + 1 if now > 100 else 0
                if load.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit((folder / "load.log").read_text() or "no load was generated")
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(load.pid, signal.SIGINT)


@dataclass(frozen=True)
class Stretch:
    """CPU time per request in us, fraction of a CPU, requests/s."""

    cost_us: float
    share: float
    rate: float


def stretch(server: Server, seconds: float) -> Stretch:
    """Measure the server for this time."""
    time.sleep(SETTLE_S)
    began, requests, used = time.monotonic(), server.count_requests(), server.used_ns()
    time.sleep(seconds)
    used, requests = server.used_ns() - used, server.count_requests() - requests
    lasted = time.monotonic() - began
    return Stretch(used / requests / 1e3, used / lasted / 1e9, requests / lasted)


def ways(server: Server, place: Path) -> dict[str, dict[str, Any]]:
    """Return the options of each kind of trace."""
    parser = {"framing": server.framing}
    return {
        "null": {**parser, "port": UNUSED_PORT},
        "default": {**parser, "one_window_in": choose_windows(server, 10.0)},
        "sums": {**parser, "one_window_in": choose_windows(server, LONG_S)},
        "exchange": {"framing": '"exchange"'},
        "parser": parser,
        "full": {**parser, "every": 1, "records": place / "all.parquet"},
        "who": {**parser, "who": True},
        "connections": {**parser, "one_connection_in": 16},
        "windows": {**parser, "one_window_in": 16},
    }


def choose_windows(server: Server, duration_s: float) -> int:
    """Return the windows that a trace of this duration chooses."""
    request = TraceRequest(find_server(server.address), duration_s, one_window_in=None)
    return decide_windows(request).one_window_in or 1


def stretch_length(options: dict[str, Any], seconds: float) -> float:
    """Return the length of a stretch in seconds: with windows, several times the distance of two of them."""
    distance = WINDOW_S * options.get("one_window_in", 1)
    return seconds if distance == WINDOW_S else math.ceil(WINDOWS_S / distance) * distance


def with_trace(server: Server, options: dict[str, Any], seconds: float) -> Stretch:
    """Measure a stretch with a trace."""
    block_s = WINDOW_S if options.get("one_window_in", 1) > 1 else LEAST_BLOCK_S
    running = _engine.Trace(**{"port": server.port, "block_ns": int(block_s * 1e9), **options})
    try:
        return stretch(server, seconds)
    finally:
        running.end()


def ratio_of(pairs: list[tuple[Stretch, Stretch]]) -> Estimate:
    """Return the median of the pairs' ratios."""
    return median_interval([after.cost_us / before.cost_us for before, after in pairs])


def report(name: str, pairs: list[tuple[Stretch, Stretch]], null: Estimate | None) -> str:
    """Return the line of one kind of trace; `null` is the ratio of the null probes."""
    off, on = ([pair[side] for pair in pairs] for side in (0, 1))
    ratio = ratio_of(pairs)
    multiple = "" if null is None or null.value <= 1 else f"{(ratio.value - 1) / (null.value - 1):.1f} x null"
    before, after = (statistics.median(one.cost_us for one in side) for side in (off, on))
    busy, rate = statistics.median(one.share for one in off), statistics.median(one.rate for one in off)
    return (
        f"{name:<14} {len(pairs):>3} pairs  {before:6.2f} -> {after:6.2f} us  {ratio.value - 1:+.1%}"
        f" [{ratio.low - 1:+.1%}, {ratio.high - 1:+.1%}]  {multiple:>12}  {busy:.0%} busy, {rate:.0f}/s"
    )


def pair(server: Server, options: dict[str, Any], seconds: float, *, first: bool) -> tuple[Stretch, Stretch]:
    """Measure a stretch without a trace and one with; the traced one comes first if `first` is set."""
    if first:
        on = with_trace(server, options, seconds)
        return stretch(server, seconds), on
    return stretch(server, seconds), with_trace(server, options, seconds)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", choices=SERVERS, default="memcached")
    parser.add_argument("--rate", default="45k")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.4, help="of a stretch")
    parser.add_argument("--only", nargs="*", default=["null", "default", "sums", "parser", "full", "who"])
    parser.add_argument(
        "--until", type=float, default=math.inf, help="seconds after which no pair is started"
    )
    asked = parser.parse_args()
    os.sched_setaffinity(0, {CLIENTS_CPU})
    chosen, began = random.Random(asked.pairs), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        with (
            SERVERS[asked.server](folder) as server,
            generate_load(server, asked.rate, asked.connections, folder),
        ):
            known = ways(server, folder)
            found: dict[str, list[tuple[Stretch, Stretch]]] = {name: [] for name in asked.only}
            for _ in range(asked.pairs):
                for way in chosen.sample(asked.only, len(asked.only)):
                    if time.monotonic() - began > asked.until:
                        break
                    seconds = stretch_length(known[way], asked.seconds)
                    first = chosen.random() < 0.5
                    found[way].append(pair(server, known[way], seconds, first=first))
    null = ratio_of(found["null"]) if found.get("null") else None
    for way, pairs in found.items():
        print(report(way, pairs, null), flush=True)


if __name__ == "__main__":
    main()
