"""What the benches share: one client instance against one server, each on a processor of its own."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from hindmost import _engine
from hindmost._engine import Histogram
from hindmost.fleet import HERE, Moment, jobs_of, run_instances
from hindmost.plan import MeasurePlan
from hindmost.targets import ManagedServer


@dataclass(frozen=True)
class Host:
    """Where server and client run, and for how long each measurement lasts."""

    server_cpu: int
    client_cpu: int
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """What one client measured: its rate, busy shares, and distributions in nanoseconds."""

    per_s: float
    busy: float
    server: float
    distributions: dict[str, Histogram]

    def us(self, what: str, level: float) -> float:
        """A quantile in microseconds; inf where it is infinitely late."""
        value = self.distributions[what].quantile(level)
        return math.inf if value is None else value / 1e3

    @property
    def cost_us(self) -> float:
        """Busy time of the client's core for each request."""
        return self.busy / self.per_s * 1e6


def two_cpus(seconds: float) -> Host:
    """A processor for the server and one for the client; this process steps off the server's."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit("error: one processor only: server and client would take it from each other")
    if shutil.which("memcached") is None:
        sys.exit("error: there is no memcached\nhint: apt-get install memcached")
    os.sched_setaffinity(0, set(cpus) - {cpus[0]})
    return Host(cpus[0], cpus[1], seconds)


def drive(
    host: Host,
    server: ManagedServer,
    *,
    rate: float | None,
    loop: Literal["open", "closed"] = "open",
    connections: int = 64,
    pacing: Literal["spin", "sleep"] = "spin",
    io: Literal["epoll", "io_uring"] = "epoll",
    seed: int = 1,
) -> Outcome:
    """Run one instance with one worker; without a rate, flat out."""
    plan = MeasurePlan(
        target="bench",
        loop=loop,
        rate_per_s=rate,
        connections=connections,
        pacing=pacing,
        io=io,
        client_cpus=((host.client_cpu,),),
        duration_s=host.seconds,
        warmup=0.7,
        calibration_s=0.1,
        samples=0,
        worst=1,
        seed=seed,
    )
    readings: dict[str, tuple[int, int]] = {}

    def watch(moment: Moment) -> None:
        if moment.phase in ("measure", "collect"):
            reading = (_engine.process_cpu_ns(server.pid) or 0, _engine.monotonic_ns())
            readings.setdefault(moment.phase, reading)

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        engine_plan = plan.engine_plan(1, 0, "memcached", server.address)
        phases = (plan.calibration_s + plan.duration_s, 20.0)
        jobs = jobs_of([engine_plan], plan.client_cpus, HERE.hosts)
        (result,) = run_instances(HERE, jobs, place, phases, watch)
        found = _engine.read_hlog(str(place / "instance-0.hlog"))
    wholes: dict[str, Histogram] = {}
    for tag, _, _, histogram in found:
        wholes.setdefault((tag or "").partition("/")[0], Histogram()).merge(histogram)
    (used_before, before), (used_after, after) = readings["measure"], readings["collect"]
    share = (used_after - used_before) / (after - before)
    return Outcome(result["achieved_per_s"], result["threads"][0]["busy_share"], share, wholes)


def of(outcomes: Sequence[Outcome], pick: Callable[[Outcome], float]) -> tuple[float, float, float]:
    """Median, least and most of something over the rounds."""
    values = sorted(pick(one) for one in outcomes)
    return median(values), values[0], values[-1]


def noise_floor() -> str:
    """What the host takes away from a spinning thread, in the doctor's words."""
    findings = json.loads(_engine.doctor("/", 0.5))["findings"]
    return next(
        (f"{one['mark']}: {one['value']}" for one in findings if one["id"] == "noise_floor"), "unknown"
    )
