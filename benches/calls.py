"""System calls per request, and the cost of each I/O interface: ``python benches/calls.py``.

There are two tables. *Calls* are counted by strace over a longer and a shorter load of the same kind; the
difference excludes start-up and exit. Polls for replies (epoll_wait) are counted separately: a spinning
worker polls whenever it has nothing else to do. *Cost* is measured without strace, in alternating rounds:
busy time per request, the send delay next to the delay that the write calls alone would cause (ideal), and
the client's addition to the wire latency at the median (overhead).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal

from driving import Host, Outcome, drive, noise_floor, spread, two_cpus

from hindmost.core.plan import MeasurePlan
from hindmost.core.targets import ManagedServer, preset

Counts = dict[str, float]
Io = Literal["epoll", "io_uring"]
Pacing = Literal["spin", "sleep"]
WAYS: tuple[Io, ...] = ("epoll", "io_uring")
SENDS, READS = {"sendto", "sendmsg", "write"}, {"recvfrom", "recvmsg", "read"}
LOOKS, BOTH = {"epoll_wait", "epoll_pwait", "epoll_pwait2"}, {"io_uring_enter"}
COUNTED_S = (0.5, 1.5)
"""Durations in seconds of the two loads whose calls are counted."""


@dataclass(frozen=True)
class Load:
    """A kind of load."""

    name: str
    rate: float | None
    connections: int
    pacing: Pacing = "spin"

    @property
    def loop(self) -> Literal["open", "closed"]:
        """Return closed without a rate; the load is then as fast as possible."""
        return "open" if self.rate else "closed"


LOADS = (
    Load("2,000/s", 2_000.0, 8),
    Load("2,000/s, asleep", 2_000.0, 8, "sleep"),
    Load("20,000/s", 20_000.0, 16),
    Load("20,000/s, asleep", 20_000.0, 16, "sleep"),
    Load("50,000/s", 50_000.0, 16),
    Load("flat out, 16 connections", None, 16),
    Load("flat out, 64 connections", None, 64),
)


def count_calls(host: Host, server: ManagedServer, load: Load, io: Io, seconds: float) -> Counts:
    """Count the calls of one client by name, and its requests under ``""``."""
    plan = MeasurePlan(
        target="bench",
        loop=load.loop,
        rate_per_s=load.rate,
        connections=load.connections,
        pacing=load.pacing,
        io=io,
        client_cpus=((host.client_cpu,),),
        duration_s=seconds,
        warmup=0.1,
        calibration_s=0.1,
        samples=0,
        worst=1,
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "plan.json").write_text(
            plan.engine_plan(1, 0, "memcached", server.address), encoding="utf-8"
        )
        command = ["strace", "-f", "-c", "-U", "name,calls", "-o", str(place / "calls")]
        command += [
            str(Path(sys.executable).with_name("hindmost")),
            "load",
            str(place / "plan.json"),
            "--out",
            folder,
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
        result = json.loads((place / "client-0.json").read_text(encoding="utf-8"))
        return dict(_calls(place / "calls")) | {"": result["counts"]["completed"]}


def _calls(path: Path) -> Iterator[tuple[str, float]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        match line.split():
            case [name, number] if number.isdigit() and name != "total":
                yield name, float(number)


def calls_table(host: Host) -> list[str]:
    """Return the table of calls per request, by purpose."""
    lines = ["| load | io | sends | reads | both at once | looks | calls without looks |"]
    lines.append("| --- | --- |" + " ---: |" * 5)
    for load, io in product(LOADS, WAYS):
        with ManagedServer(preset("memcached"), cpus=[host.server_cpu]) as server:
            short, long = (count_calls(host, server, load, io, seconds) for seconds in COUNTED_S)
        requests = long[""] - short[""]

        def each(names: set[str], a: Counts = short, b: Counts = long, n: float = requests) -> float:
            return sum(b.get(name, 0.0) - a.get(name, 0.0) for name in names) / n

        sends, reads, both, looks = (each(names) for names in (SENDS, READS, BOTH, LOOKS))
        cells = [f"{value:.2f}" for value in (sends, reads, both, looks, sends + reads + both)]
        lines.append(f"| {load.name} | {io} | " + " | ".join(cells) + " |")
        print(f"counted: {load.name}, {io}", file=sys.stderr)
    return lines


def cost_table(host: Host, rounds: int) -> list[str]:
    """Return the table of cost and precision, in alternating rounds."""
    found: dict[tuple[Load, Io], list[Outcome]] = {}
    for number in range(rounds):
        for load in LOADS[2:]:
            for io in WAYS if number % 2 == 0 else WAYS[::-1]:
                with ManagedServer(preset("memcached"), cpus=[host.server_cpu]) as server:
                    one = drive(
                        host,
                        server,
                        rate=load.rate,
                        loop=load.loop,
                        connections=load.connections,
                        pacing=load.pacing,
                        io=io,
                    )
                found.setdefault((load, io), []).append(one)
        print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    lines = [
        "| load | io | requests/s | us/request | send delay p50 | p99 | p99.9 | ideal p99 | overhead p50 |"
    ]
    lines.append("| --- | --- |" + " ---: |" * 7)
    for (load, io), ones in found.items():
        cells = [
            f"{spread(ones, lambda one: one.per_s)[0]:,.0f}",
            f"{spread(ones, lambda one: one.cost_us)[0]:.2f}",
        ]
        for what, level in (
            ("send_delay", 0.5),
            ("send_delay", 0.99),
            ("send_delay", 0.999),
            ("ideal_send_delay", 0.99),
            ("overhead", 0.5),
        ):
            if load.rate is None and what != "overhead":
                cells.append("")
                continue
            cells.append(f"{spread(ones, lambda one, what=what, level=level: one.us(what, level))[0]:.3g}")
        lines.append(f"| {load.name} | {io} | " + " | ".join(cells) + " |")
    return lines


def main() -> int:
    """Count, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of each measurement")
    asked = parser.parse_args()
    before = noise_floor()
    host = two_cpus(asked.seconds)
    tables = []
    if shutil.which("strace") is None:
        print("calls are not counted: strace is not installed (apt-get install strace)", file=sys.stderr)
    else:
        tables.append(["system calls per request, counted by strace", "", *calls_table(host)])
    heading = (
        f"cost, in microseconds: memcached, one client core; medians of {asked.rounds} alternating rounds"
    )
    tables.append([heading, "", *cost_table(host, asked.rounds)])
    tables.append([f"noise floor before  {before}", f"noise floor after   {noise_floor()}"])
    print("\n\n".join("\n".join(table) for table in tables))
    return 0


if __name__ == "__main__":
    sys.exit(main())
