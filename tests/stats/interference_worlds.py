"""Queues whose processor is stolen now and then, with the truth beside them: the same requests, undisturbed.

A theft stops the server's clock and nothing else (preemptive resume). So arrivals are put on the clock of the time
that the server *had*, served there by Lindley's recursion, and their ends are put back: exact, without a loop.
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


SCV = {"exponential": 1.0, "lognormal": float(np.expm1(0.64)), "bimodal": 1.04 * 2.44 * 8.29 / 1.0}
SCV["bimodal"] = (0.98 + 0.02 * 33**2) / 1.64**2 - 1.0
LAWS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "exponential": exponential,
    "lognormal": lognormal,
    "bimodal": bimodal,
}


@dataclass(frozen=True)
class World:
    """One law of service at one utilisation, stolen from for a share of time in spells of a mean length."""

    law: str
    rho: float
    share: float
    spell_ms: float

    @property
    def name(self) -> str:
        return f"{self.law} {self.rho:g}, {self.share:.0%} in {self.spell_ms:g} ms"


@dataclass(frozen=True)
class Seen:
    """Requests of one run: due, done, done without thefts, and the thefts."""

    scheduled: Nanos
    done: Nanos
    undisturbed: Nanos
    on: Nanos
    off: Nanos


def stolen(g: np.random.Generator, end: float, share: float, spell_ns: float) -> tuple[Floats, Floats]:
    """Thefts with exponential lengths and gaps."""
    if share == 0.0:
        return np.empty(0), np.empty(0)
    gap = spell_ns * (1.0 - share) / share
    count = int(1.3 * end / (gap + spell_ns)) + 50
    gaps, lengths = g.exponential(gap, count), g.exponential(spell_ns, count)
    off = np.cumsum(gaps + lengths)
    on = off - lengths
    return on[on < end], off[on < end]


def served(arrival: Floats, service: Floats) -> Floats:
    """Ends of service at one server, first come first served (Lindley as a running minimum)."""
    work = np.cumsum(service)
    return np.asarray(work - np.minimum.accumulate(work - service - arrival))


def had(t: Floats, on: Floats, off: Floats) -> Floats:
    """Time that the server had until t."""
    lost = np.concatenate([[0.0], np.cumsum(off - on)])
    k = np.searchsorted(on, t, side="right")
    inside = (
        np.where(k > 0, np.minimum(t, off[np.maximum(k - 1, 0)]) - on[np.maximum(k - 1, 0)], 0.0)
        if on.size
        else 0.0
    )
    return np.asarray(t - lost[np.maximum(k - 1, 0)] - inside)


def clock(own: Floats, on: Floats, off: Floats) -> Floats:
    """The inverse of `had`: when the server had had so much; what ends as a theft begins ends before it."""
    if not on.size:
        return own
    lost = np.concatenate([[0.0], np.cumsum(off - on)])
    begin = on - lost[:-1]
    return np.asarray(own + lost[np.searchsorted(begin, own, side="left")])


def simulate(world: World, requests: int, seed: int, warmup: int = 20_000) -> Seen:
    g = np.random.default_rng(seed)
    n = requests + warmup
    arrival = np.cumsum(g.exponential(SERVICE_NS / world.rho, n))
    service = LAWS[world.law](g, n)
    on, off = stolen(g, arrival[-1], world.share, 1e6 * world.spell_ms)
    done = clock(served(had(arrival, on, off), service), on, off)
    isolated = served(arrival, service)
    keep = slice(warmup, None)
    return Seen(*(np.rint(x).astype(np.int64) for x in (arrival[keep], done[keep], isolated[keep], on, off)))


def throttled(rho: float, quota: float, period_ms: float, requests: int, seed: int) -> Seen:
    """A server whose own quota ends in each period once it has used it: no theft, though a counter says so."""
    g = np.random.default_rng(seed)
    arrival = np.cumsum(g.exponential(SERVICE_NS / rho, requests))
    service = exponential(g, requests)
    period, allowed = 1e6 * period_ms, 1e6 * period_ms * quota
    done = np.empty(requests)
    on = []
    now, left, current = 0.0, allowed, 0
    for i in range(requests):
        now = max(now, arrival[i])
        work = service[i]
        while True:
            if now >= (current + 1) * period:
                current, left = int(now // period), allowed
            room = min(left, (current + 1) * period - now)
            if work <= room:
                now, left = now + work, left - work
                break
            now, left, work = now + room, left - room, work - room
            if left <= 0.0:
                on.append(now)
                now = (current + 1) * period
        done[i] = now
    begin = np.array(on)
    end = (np.floor(begin / period) + 1) * period
    rounded = (np.rint(x).astype(np.int64) for x in (arrival, done, served(arrival, service), begin, end))
    return Seen(*rounded)


def taken_while_busy(rho: float, share: float, spell_ns: float, requests: int, seed: int) -> Seen:
    """Thefts that begin at a constant hazard of the time that the server works, and never while it idles."""
    g = np.random.default_rng(seed)
    arrival = np.cumsum(g.exponential(SERVICE_NS / rho, requests))
    service = exponential(g, requests)
    gap = spell_ns * rho * (1.0 - share) / share
    done = np.empty(requests)
    on, off = [], []
    now, left = 0.0, g.exponential(gap)  # left: work until the next theft
    for i in range(requests):
        now, work = max(now, arrival[i]), service[i]
        while left < work:
            work, now = work - left, now + left
            on.append(now)
            now += g.exponential(spell_ns)
            off.append(now)
            left = g.exponential(gap)
        left, now = left - work, now + work
        done[i] = now
    times = (arrival, done, served(arrival, service), np.array(on), np.array(off))
    return Seen(*(np.rint(x).astype(np.int64) for x in times))
