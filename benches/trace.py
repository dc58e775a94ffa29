"""What a trace costs a server, and how near its stamps are to a capture's: ``python benches/trace.py``.

Each round has every way once, in an order of its own: without a trace, and with one of each kind. Of each
the CPU time of the server by request; the cost is the median of the rounds' ratios, with its interval.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import random
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from hindmost import _engine
from hindmost.capture import Capture
from hindmost.targets.ports import pick_free_port
from hindmost.targets.procfs import process_tree

GET, ANSWER = b"get key\r\n", b"VALUE key 0 5\r\nhello\r\nEND\r\n"
COLUMNS = ["client_port", "network_ns", "left_ns"]


@contextmanager
def memcached() -> Iterator[tuple[int, int]]:
    """A memcached with one worker and the value that is asked for: its port and its process."""
    port = pick_free_port("127.0.0.1")
    command = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-t", "1", "-u", "nobody"]
    with subprocess.Popen(command) as process:
        try:
            time.sleep(0.5)
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"set key 0 0 5\r\nhello\r\n")
                client.recv(100)
            yield port, process.pid
        finally:
            process.terminate()


def ask(port: int, seconds: float, done: multiprocessing.Queue[int]) -> None:
    """One request after another, for so long; how many goes into the queue."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            client.sendall(GET)
            got = 0
            while got < len(ANSWER):
                got += len(client.recv(100))
            count += 1
    done.put(count)


def used_ns(pid: int) -> int:
    """CPU time of all threads, by the scheduler's own count."""
    paths = [path for one in process_tree(pid) for path in Path(f"/proc/{one}/task").glob("*/schedstat")]
    return sum(int(path.read_text().split()[0]) for path in paths)


def cost_us(port: int, pid: int, seconds: float, clients: int) -> float:
    """CPU time of the server by request, in microseconds."""
    done: multiprocessing.Queue[int] = multiprocessing.Queue()
    asking = [multiprocessing.Process(target=ask, args=(port, seconds, done)) for _ in range(clients)]
    before = used_ns(pid)
    for one in asking:
        one.start()
    count = sum(done.get() for _ in asking)
    for one in asking:
        one.join()
    return (used_ns(pid) - before) / count / 1e3


def rounds(
    port: int, pid: int, count: int, seconds: float, clients: int, place: Path, only: Sequence[str]
) -> dict[str, list[float]]:
    """CPU time by request of each way, round by round."""
    ways: dict[str, dict[str, object] | None] = {
        "off": None,
        "another port": {"framing": '"memcached"', "port": 9},
        "exchange": {"framing": '"exchange"'},
        "parser": {"framing": '"memcached"'},
        "one connection in 16": {"framing": '"memcached"', "one_connection_in": 16},
        "one window in 16": {"framing": '"memcached"', "one_window_in": 16},
        "who": {"framing": '"memcached"', "who": True},
        "parser and all records": {"framing": '"memcached"', "every": 1, "records": place / "all.parquet"},
    }
    found: dict[str, list[float]] = {name: [] for name in ways if not only or name in (*only, "off")}
    order, shuffled = list(found), random.Random(count)
    for _ in range(count):
        shuffled.shuffle(order)
        for name in order:
            options = ways[name]
            running = (
                None if options is None else _engine.Trace(**{"port": port, "block_ns": 10**8, **options})
            )
            # Long enough for windows to come as often as they should.
            length = seconds * (4 if name.startswith("one window") else 1)
            found[name].append(cost_us(port, pid, length, clients))
            if running is not None:
                running.end()
    return found


def stamps_ns(port: int, place: Path) -> dict[str, np.ndarray]:
    """By how much e1 and e6 are behind the capture's stamps of the same packets, in ns.

    Neither is an error of the clocks. On loopback a capture has a packet when it comes in. Those of TCP still
    carry their time of departure then, so nobody stamps them before IP does (``skb_clear_delivery_time`` in
    ``ip_local_deliver_finish``), and that is e1; e6 is before the way through the driver, of which a part is
    what the probe itself does after it looked at the clock.
    """
    path = place / "stamps.parquet"
    with Capture(place / "lo.pcap", port) as capture:
        running = _engine.Trace(port, '"memcached"', block_ns=10**8, every=1, records=path)
        cost: multiprocessing.Queue[int] = multiprocessing.Queue()
        ask(port, 2.0, cost)
        ahead = json.loads(running.end())["realtime_ahead_ns"]
        capture.finish()
    text, (_, out_ns, in_ns, *_) = _engine.capture_exchanges(str(place / "lo.pcap"), port, "memcached")
    assert len(json.loads(text)["flows"]) == 1
    seen = [np.frombuffer(column, dtype=np.int64) for column in _engine.read_columns(str(path), COLUMNS)]
    both = min(len(out_ns) // 8, len(seen[0]))
    of_capture = [
        np.frombuffer(column, dtype=np.uint64).astype(np.int64)[:both] for column in (out_ns, in_ns)
    ]
    pairs = zip(("e1", "e6"), (seen[1], seen[2]), of_capture, strict=True)
    return {name: stamp[:both] + ahead - capture for name, stamp, capture in pairs}


def median_interval(values: np.ndarray) -> tuple[float, float, float]:
    """The median and what holds it in 95 % of samples, whatever the law: order statistics (binomial)."""
    ordered, n = np.sort(values), len(values)
    below = np.cumsum([math.comb(n, k) / 2**n for k in range(n)])
    at = max(0, int(np.searchsorted(below, 0.025, side="right")) - 1)
    return float(ordered[at]), float(np.median(ordered)), float(ordered[n - 1 - at])


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[], help="these ways alone, beside off")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, memcached() as (port, pid):
        place = Path(folder)
        found = rounds(port, pid, asked.rounds, asked.seconds, asked.clients, place, asked.only)
        off = found["off"]
        print(f"{'server CPU by request':<26} {'median':>9} {'least':>9}   ratio to off [95 % of the median]")
        for name, values in found.items():
            ratios = np.array(values) / np.array(off)
            low, middle, high = median_interval(ratios)
            print(
                f"{name:<26} {statistics.median(values):>6.2f} us {min(values):>6.2f} us"
                f"   {middle - 1:+.1%} [{low - 1:+.1%}, {high - 1:+.1%}]"
            )
        for name, off_by in stamps_ns(port, place).items():
            p1, q1, middle, q3, p99 = np.quantile(off_by, [0.01, 0.25, 0.5, 0.75, 0.99])
            print(
                f"{name} - capture: median {middle:.0f} ns, IQR {q3 - q1:.0f} ns, p1 {p1:.0f} ns,"
                f" p99 {p99:.0f} ns, {len(off_by)} packets"
            )


if __name__ == "__main__":
    main()
