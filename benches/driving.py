"""Shared by the benches: one client against one server, each on its own CPU."""

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
from hindmost.core.fleet import HERE, Moment, jobs_of, run_clients
from hindmost.core.plan import MeasurePlan
from hindmost.core.targets import ManagedServer


@dataclass(frozen=True)
class Host:
    """The CPUs of server and client, and the length of each measurement."""

    server_cpu: int
    client_cpu: int
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """Results of one client: rate, busy shares, and distributions in nanoseconds."""

    per_s: float
    busy: float
    server: float
    distributions: dict[str, Histogram]

    def us(self, what: str, level: float) -> float:
        """Return a quantile in microseconds; inf if it is infinite."""
        value = self.distributions[what].quantile(level)
        return math.inf if value is None else value / 1e3

    @property
    def cost_us(self) -> float:
        """Return the busy time of the client's core per request in microseconds."""
        return self.busy / self.per_s * 1e6


def two_cpus(seconds: float) -> Host:
    """Return one CPU for the server and one for the client; keep this process off the server's."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit("error: there is only one CPU: server and client would compete for it")
    if shutil.which("memcached") is None:
        sys.exit("error: memcached is not installed\nhint: apt-get install memcached")
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
    """Run one client with one worker; without a rate, as fast as possible."""
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
        (result,) = run_clients(HERE, jobs, place, phases, watch)
        found = _engine.read_hlog(str(place / "client-0.hlog"))
    wholes: dict[str, Histogram] = {}
    for tag, _, _, histogram in found:
        wholes.setdefault((tag or "").partition("/")[0], Histogram()).merge(histogram)
    (used_before, before), (used_after, after) = readings["measure"], readings["collect"]
    share = (used_after - used_before) / (after - before)
    return Outcome(result["achieved_per_s"], result["threads"][0]["busy_share"], share, wholes)


def spread(outcomes: Sequence[Outcome], pick: Callable[[Outcome], float]) -> tuple[float, float, float]:
    """Return median, minimum and maximum of a value over the rounds."""
    values = sorted(pick(one) for one in outcomes)
    return median(values), values[0], values[-1]


def noise_floor() -> str:
    """Return the doctor's description of the time that the host takes from a spinning thread."""
    findings = json.loads(_engine.doctor("/", 0.5))["findings"]
    return next(
        (f"{one['mark']}: {one['value']}" for one in findings if one["id"] == "noise_floor"), "unknown"
    )
