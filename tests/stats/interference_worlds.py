"""Queues with interruptions of the CPU, and the truth: the same requests without interruptions.

An interruption stops the server's clock and nothing else (preemptive resume). So arrivals are mapped to the server's
CPU time, served there by Lindley's recursion, and the completions are mapped back: exact, without a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Nanos = npt.NDArray[np.int64]

SERVICE_NS = 20_000.0


def exponential(g: np.random.Generator, n: int) -> Floats:
    return g.exponential(SERVICE_NS, n)


def lognormal(g: np.random.Generator, n: int) -> Floats:
    return SERVICE_NS * g.lognormal(-0.32, 0.8, n)


def bimodal(g: np.random.Generator, n: int) -> Floats:
    """2 % of requests take 33 times as long."""
    return SERVICE_NS / 1.64 * np.where(g.random(n) < 0.02, 33.0, 1.0)


SCV = {
    "exponential": 1.0,
    "lognormal": float(np.expm1(0.64)),
    "bimodal": (0.98 + 0.02 * 33**2) / 1.64**2 - 1.0,
}
LAWS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "exponential": exponential,
    "lognormal": lognormal,
    "bimodal": bimodal,
}


@dataclass(frozen=True)
class World:
    """A service law at a utilisation, with interruptions that take a share of the time, of a mean length."""

    law: str
    rho: float
    share: float
    spell_ms: float

    @property
    def name(self) -> str:
        return f"{self.law} {self.rho:g}, {self.share:.0%} in {self.spell_ms:g} ms"


@dataclass(frozen=True)
class SimulatedRun:
    """Requests of one run (scheduled, completed, completed without interruptions), and the interruptions."""

    scheduled: Nanos
    done: Nanos
    undisturbed: Nanos
    on: Nanos
    off: Nanos


def draw_interruptions(
    g: np.random.Generator, end: float, share: float, spell_ns: float
) -> tuple[Floats, Floats]:
    """Interruptions with exponential lengths and gaps."""
    if share == 0.0:
        return np.empty(0), np.empty(0)
    gap = spell_ns * (1.0 - share) / share
    count = int(1.3 * end / (gap + spell_ns)) + 50
    gaps, lengths = g.exponential(gap, count), g.exponential(spell_ns, count)
    off = np.cumsum(gaps + lengths)
    on = off - lengths
    return on[on < end], off[on < end]


def completions(arrival: Floats, service: Floats) -> Floats:
    """Completion times at one server, first come first served (Lindley as a running minimum)."""
    work = np.cumsum(service)
    return np.asarray(work - np.minimum.accumulate(work - service - arrival))


def cpu_time(t: Floats, on: Floats, off: Floats) -> Floats:
    """CPU time of the server until t."""
    lost = np.concatenate([[0.0], np.cumsum(off - on)])
    k = np.searchsorted(on, t, side="right")
    inside = (
        np.where(k > 0, np.minimum(t, off[np.maximum(k - 1, 0)]) - on[np.maximum(k - 1, 0)], 0.0)
        if on.size
        else 0.0
    )
    return np.asarray(t - lost[np.maximum(k - 1, 0)] - inside)


def wall_time(cpu: Floats, on: Floats, off: Floats) -> Floats:
    """The inverse of `cpu_time`. Work that would end as an interruption begins ends before it."""
    if not on.size:
        return cpu
    lost = np.concatenate([[0.0], np.cumsum(off - on)])
    begin = on - lost[:-1]
    return np.asarray(cpu + lost[np.searchsorted(begin, cpu, side="left")])


def simulate(world: World, requests: int, seed: int, warmup: int = 20_000) -> SimulatedRun:
    g = np.random.default_rng(seed)
    n = requests + warmup
    arrival = np.cumsum(g.exponential(SERVICE_NS / world.rho, n))
    service = LAWS[world.law](g, n)
    on, off = draw_interruptions(g, arrival[-1], world.share, 1e6 * world.spell_ms)
    done = wall_time(completions(cpu_time(arrival, on, off), service), on, off)
    isolated = completions(arrival, service)
    keep = slice(warmup, None)
    times = (arrival[keep], done[keep], isolated[keep], on, off)
    return SimulatedRun(*(np.rint(x).astype(np.int64) for x in times))


def simulate_quota(rho: float, quota: float, period_ms: float, requests: int, seed: int) -> SimulatedRun:
    """A server throttled by its own quota in each period: no interference, although a counter reports throttling."""
    g = np.random.default_rng(seed)
    arrival = np.cumsum(g.exponential(SERVICE_NS / rho, requests))
    service = exponential(g, requests)
    period, quota_ns = 1e6 * period_ms, 1e6 * period_ms * quota
    done = np.empty(requests)
    on = []
    now, quota_left, current = 0.0, quota_ns, 0
    for i in range(requests):
        now = max(now, arrival[i])
        work = service[i]
        while True:
            if now >= (current + 1) * period:
                current, quota_left = int(now // period), quota_ns
            room = min(quota_left, (current + 1) * period - now)
            if work <= room:
                now, quota_left = now + work, quota_left - work
                break
            now, quota_left, work = now + room, quota_left - room, work - room
            if quota_left <= 0.0:
                on.append(now)
                now = (current + 1) * period
        done[i] = now
    begin = np.array(on)
    end = (np.floor(begin / period) + 1) * period
    times = (arrival, done, completions(arrival, service), begin, end)
    return SimulatedRun(*(np.rint(x).astype(np.int64) for x in times))


def interrupt_busy_server(
    rho: float, share: float, spell_ns: float, requests: int, seed: int
) -> SimulatedRun:
    """Interruptions that begin at a constant rate of the server's CPU time, and never while it idles."""
    g = np.random.default_rng(seed)
    arrival = np.cumsum(g.exponential(SERVICE_NS / rho, requests))
    service = exponential(g, requests)
    gap = spell_ns * rho * (1.0 - share) / share
    done = np.empty(requests)
    on, off = [], []
    now, work_left = 0.0, g.exponential(gap)  # left: CPU time until the next interruption
    for i in range(requests):
        now, work = max(now, arrival[i]), service[i]
        while work_left < work:
            work, now = work - work_left, now + work_left
            on.append(now)
            now += g.exponential(spell_ns)
            off.append(now)
            work_left = g.exponential(gap)
        work_left, now = work_left - work, now + work
        done[i] = now
    times = (arrival, done, completions(arrival, service), np.array(on), np.array(off))
    return SimulatedRun(*(np.rint(x).astype(np.int64) for x in times))
