"""What the load engine costs and how precise it is, on this machine: ``make bench``.

Two questions, one server (memcached with one thread on a processor of its own), one client instance with one
worker on another:

1. *Flat out*, closed loop, 64 connections: requests a second, and who was the limit. The client's share of
   busy time gives what a request costs it, and so how many a whole core could send. Where ``redis-benchmark``
   is at hand, both drive one redis-server the same way, and the ratio of their costs is printed.
2. *Open loop* at 10 %, 50 % and 80 % of what that server served flat out: how late requests left (slip),
   beside the service latency, which is what the slip is to be small against.

Rounds alternate over all of these, so that a host that changes slowly changes all of them; medians over
rounds. The figures say something of this host only: the noise floor before and after is printed beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from hindmost import _engine
from hindmost.errors import HindmostError
from hindmost.fleet import LocalFleet, Moment
from hindmost.plan import MeasurePlan
from hindmost.targets import ManagedServer, preset

SHARES = (0.1, 0.5, 0.8)
LEVELS = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
CONNECTIONS = 64


@dataclass(frozen=True)
class Host:
    """Where server and client run, and for how long each measurement lasts."""

    server_cpu: int
    client_cpu: int
    seconds: float


@dataclass
class Outcome:
    """One measurement of one client."""

    per_s: float
    busy: float
    server: float
    us: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def cost_us(self) -> float:
        """Busy time of the client's core for each request."""
        return self.busy / self.per_s * 1e6


def drive(host: Host, server: ManagedServer, *, rate: float | None, protocol: str = "memcached") -> Outcome:
    """Run one instance against the server: open loop at `rate`, or closed loop flat out."""
    plan = MeasurePlan(
        target="bench",
        loop="closed" if rate is None else "open",
        rate_per_s=rate,
        connections=CONNECTIONS,
        client_cpus=((host.client_cpu,),),
        duration_s=host.seconds,
        warmup=0.7,
        calibration_s=0.1,
        samples=0,
        worst=1,
    )
    used: list[int] = []

    def watch(moment: Moment) -> None:
        if moment.phase in ("measure", "collect") and len(used) < 2:
            used.append(_engine.process_cpu_ns(server.pid) or 0)

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        engine_plan = plan.engine_plan(1, 0, protocol, server.address)
        phases = (plan.calibration_s + plan.duration_s, 20.0)
        (result,) = LocalFleet(plan.client_cpus).run([engine_plan], place, phases, watch)
        distributions = _engine.read_hlog(str(place / "instance-0.hlog"))
    share = (used[1] - used[0]) / 1e9 / phases[0] if len(used) == 2 else float("nan")
    outcome = Outcome(result["achieved_per_s"], result["threads"][0]["busy_share"], share)
    for what in ("latency", "service", "slip"):
        whole = _engine.Histogram()
        for tag, _, _, histogram in distributions:
            if (tag or "").startswith(f"{what}/"):
                whole.merge(histogram)
        outcome.us[what] = {
            name: (whole.quantile(q) or 0.0) / 1e3 if whole.count else 0.0 for name, q in LEVELS.items()
        }
    return outcome


def redis_benchmark(host: Host, server: ManagedServer) -> Outcome:
    """Drive redis-server with its own benchmark: same connections, sizes, and processor."""
    address, _, port = server.address.rpartition(":")
    requests = int(60_000 * host.seconds)
    command = ["redis-benchmark", "-h", address, "-p", port, "-c", str(CONNECTIONS), "-n", str(requests)]
    command += ["-r", "10000", "-d", "200", "-t", "get", "--csv"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        preexec_fn=lambda: os.sched_setaffinity(0, {host.client_cpu}),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    row = next(line for line in done.stdout.splitlines() if line.startswith('"GET'))
    per_s = float(row.split(",")[1].strip('"'))
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Outcome(per_s, cpu_s / (requests / per_s), float("nan"))


def of(outcomes: Sequence[Outcome], pick: Callable[[Outcome], float]) -> tuple[float, float, float]:
    """Median, least and most of something over the rounds."""
    values = sorted(pick(one) for one in outcomes)
    return median(values), values[0], values[-1]


def ratio(values: Sequence[float]) -> str:
    """Sorted ratios in words."""
    return f"{median(values):.2f}  [{values[0]:.2f}, {values[-1]:.2f}]"


def noise_floor() -> str:
    """What the host takes away from a spinning thread, in the doctor's words."""
    findings = json.loads(_engine.doctor("/", 0.5))["findings"]
    return next(
        (f"{one['value']} ({one['mark']})" for one in findings if one["id"] == "noise_floor"), "unknown"
    )


def rounds_of(host: Host, rounds: int) -> dict[str, list[Outcome]]:
    """All measurements, alternating; the first flat-out one fixes the rates of the open loop."""
    found: dict[str, list[Outcome]] = {}
    memcached = preset("memcached")
    beside = shutil.which("redis-server") is not None and shutil.which("redis-benchmark") is not None
    capacity = 0.0
    for number in range(rounds):
        with ManagedServer(memcached, cpus=[host.server_cpu]) as server:
            flat = drive(host, server, rate=None)
            capacity = capacity or flat.per_s
            found.setdefault("flat out", []).append(flat)
            order = SHARES if number % 2 == 0 else SHARES[::-1]
            for share in order:
                one = drive(host, server, rate=share * capacity)
                found.setdefault(f"{share:.0%}", []).append(one)
        if beside:
            with ManagedServer(preset("redis"), cpus=[host.server_cpu]) as server:
                # keys are stored by our own preload, so ours goes first
                found.setdefault("redis, hindmost", []).append(
                    drive(host, server, rate=None, protocol="redis")
                )
                found.setdefault("redis, redis-benchmark", []).append(redis_benchmark(host, server))
        print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    return found


def table(found: dict[str, list[Outcome]], rounds: int) -> str:
    """The figures, for people: medians over rounds, least and most in brackets."""
    flat = found["flat out"]
    per_s, cost = of(flat, lambda one: one.per_s), of(flat, lambda one: one.cost_us)
    server, busy = of(flat, lambda one: one.server), of(flat, lambda one: one.busy)
    limit = "the server" if server[0] > busy[0] else "the client"
    lines = [
        f"memcached, one thread; one client core; medians of {rounds} alternating rounds [least, most]",
        "",
        f"flat out, closed loop, {CONNECTIONS} connections",
        f"  requests/s                      {per_s[0]:>9,.0f}  [{per_s[1]:,.0f}, {per_s[2]:,.0f}]",
        f"  busy: server {server[0]:.0%}, client {busy[0]:.0%}; the limit was {limit}",
        f"  client's work for a request     {cost[0]:>9.2f} us  [{cost[1]:.2f}, {cost[2]:.2f}]",
        f"  requests/s per client core      {1e6 / cost[0]:>9,.0f}  (were it busy all the time)",
    ]
    if "redis, redis-benchmark" in found:
        pairs = list(zip(found["redis, redis-benchmark"], found["redis, hindmost"], strict=True))
        work = sorted(theirs.cost_us / ours.cost_us for theirs, ours in pairs)
        rate = sorted(ours.per_s / theirs.per_s for theirs, ours in pairs)
        lines += [
            "",
            "redis-server driven the same way, hindmost beside redis-benchmark",
            f"  work for a request, redis-benchmark : hindmost   {ratio(work)}",
            f"  requests/s, hindmost : redis-benchmark           {ratio(rate)}",
        ]
    lines += ["", "open loop, as a share of the requests/s of flat out; microseconds"]
    head = "".join(f"{what + ' ' + name:>15}" for what in ("slip", "service") for name in LEVELS)
    lines.append(f"  {'load':>4} {'asked/s':>9} {'achieved':>9} {'busy':>5}{head}")
    for share in SHARES:
        ones = found[f"{share:.0%}"]
        asked = share * flat[0].per_s
        cells = "".join(
            f"{of(ones, lambda one, w=what, n=name: one.us[w][n])[0]:>15.3g}"
            for what in ("slip", "service")
            for name in LEVELS
        )
        achieved, busy = of(ones, lambda one: one.per_s)[0] / asked, of(ones, lambda one: one.busy)
        lines.append(f"  {share:>4.0%} {asked:>9,.0f} {achieved:>9.2%} {busy[0]:>5.0%}{cells}")
    return "\n".join(lines)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds, at least 5 for medians")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of each measurement")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    asked = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        print("error: one processor only: server and client would take it from each other", file=sys.stderr)
        return 5
    if shutil.which("memcached") is None:
        print("error: there is no memcached\nhint: apt-get install memcached", file=sys.stderr)
        return 1
    host = Host(cpus[0], cpus[1], asked.seconds)
    before = noise_floor()
    os.sched_setaffinity(0, set(cpus) - {host.server_cpu})
    try:
        found = rounds_of(host, asked.rounds)
    except HindmostError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return error.exit_code
    os.sched_setaffinity(0, set(cpus))
    print(table(found, asked.rounds))
    print(f"\nnoise floor before  {before}\nnoise floor after   {noise_floor()}")
    if asked.json is not None:
        rows = {name: [vars(one) for one in ones] for name, ones in found.items()}
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
