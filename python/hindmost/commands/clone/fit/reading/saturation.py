"""Service times of a server without a log, from studies at low load, in saturation and at half load.

::

    low load    |-net-|-- wake-up --|-- service --|-net-|        wire time: all but the client's own time
    saturated                       |-- service --|-- service --|-- service --|

At low load, the kernel spends nearly all of the wire time on waking a sleeping server: for memcached, 43 us
of which 5 are service. A closed loop that keeps the server busy never lets it sleep, so CPU time divided by
throughput is the cost of a request. The rest of the wire time is the wake-up, which costs the next request
nothing. A third study shows how much service times scatter (`hindmost.commands.clone.fit.scatter`); without
it, there is only an upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.commands.clone.fit.reading.log import Log, combine_digests, digest
from hindmost.commands.clone.fit.reading.study import wire_times
from hindmost.commands.clone.fit.scatter import MOST, find_scatter, sigma_log
from hindmost.core.notes import Note
from hindmost.core.store import Study
from hindmost.core.store.measure import Measure
from hindmost.core.store.reading import load
from hindmost.errors import Inconclusive, StudyError, UsageError
from hindmost.stats import positive_mean_interval

BUSY = 0.9
"""Smallest CPU use (in CPUs) of a saturated server; below, the client was the bottleneck."""

QUARTILES = 1.349
"""Distance between the quartiles of a normal law, in standard deviations."""


@dataclass(frozen=True)
class RequestCost:
    """The cost of requests on a server that is always busy.

    Parameters
    ----------
    source : str
        The study's folder.
    cost_us : float
        CPU time per request.
    low_us, high_us : float
        95 % interval over runs; NaN for one run.
    rate_per_s : float
        Throughput.
    """

    source: str
    cost_us: float
    low_us: float
    high_us: float
    rate_per_s: float


def is_saturated(folder: Path) -> bool:
    """Return whether a study used a closed loop."""
    return bool(Study.open(folder).manifest["plan"].get("loop") == "closed")


def scheduled_rate(folder: Path) -> float:
    """Return the scheduled rate of a study in an open loop."""
    return float(Study.open(folder).manifest["plan"].get("rate_per_s") or 0.0)


def read_saturated(folder: Path) -> RequestCost:
    """Read the cost of a request from a saturated study.

    Raises
    ------
    StudyError
        The result is incomplete, or the server's CPU time is unknown.
    UsageError
        The server was not busy.
    """
    try:
        made = load(folder / "result.json", Measure).runs
        runs = [run for run in made if not run.excluded] or made
        shares = [share for run in runs if (share := run.server_cpu_share) is not None]
        if len(shares) < len(runs):
            raise ValueError("it is unknown")
        rates = [run.throughput.achieved for run in runs]
    except (OSError, ValueError) as error:
        raise StudyError(
            "incomplete-study",
            f"{folder} has no complete result with the server's CPU time: {error}",
            hint=f"hindmost measure TARGET --closed --out {folder}",
            path=str(folder),
            key="server_cpu_share",
        ) from None
    used = float(np.mean(shares))
    if used < BUSY:
        raise UsageError(
            "unsaturated-server",
            f"{folder}: the server used only {used:.0%} of a CPU in a closed loop (at least {BUSY:.0%}):"
            " client or network were the bottleneck",
            hint="hindmost measure TARGET --closed --connections 64; or with more clients",
            path=str(folder),
            value=used,
            least=BUSY,
        )
    costs = [share / rate * 1e6 for share, rate in zip(shares, rates, strict=True)]
    found = positive_mean_interval(costs)
    return RequestCost(str(folder), found.value, found.low, found.high, float(np.mean(rates)))


def read_pair(low: Path, busy: Path, half: Path | None = None) -> Log:
    """Estimate service times from a study at low load and one in which the server was saturated.

    The mean is exactly the cost; the scatter comes from a study at half load. Without one, it is that of the
    middle half of the wire times, an upper bound: services scatter no more than services and wake-ups
    together.

    Raises
    ------
    StudyError, UsageError
        As for a study at low load, `read_saturated`, and `find_scatter`.
    Inconclusive
        A request costs more than it takes at low load.
    """
    cost = read_saturated(busy)
    wire, client, paths = wire_times(low)
    usual = float(np.median(wire))  # the host's pauses distort the mean
    if cost.cost_us >= usual:
        raise Inconclusive(
            "different-servers",
            f"a request uses {cost.cost_us:.3g} µs of CPU in {busy}, but takes {usual:.3g} µs on the wire in"
            f" {low}: these are different servers, or the server used several threads",
            hint="saturate it with one thread: hindmost measure TARGET --closed --threads 1",
            path=str(busy),
            value=cost.cost_us,
            most=usual,
            unit="us",
        )
    wake, outside = usual - cost.cost_us, max(0.0, float(np.median(client)))
    read = [digest(*paths), digest(busy / "result.json")]
    if half is None:
        quartiles = np.quantile(wire, [0.25, 0.75])
        scatter = min(float(quartiles[1] - quartiles[0]) / QUARTILES / cost.cost_us, MOST)
        told = "at most that of the middle half of the wire times"
        bounds: tuple[float | None, float | None] = (None, scatter)
    else:
        found = find_scatter(cost.cost_us, wake, outside, half)
        scatter = found.value
        told = f"{scatter:.2f} of the mean{_interval(found.low, found.high, '.2f')}, if it is lognormal"
        bounds = (_number(found.low), _number(found.high))
        read.append(digest(half / "result.json"))
    # Evenly spaced quantiles of a lognormal law with this mean and scatter, shuffled: the order of the wire
    # times is the host's.
    place = np.random.default_rng(0).permutation(wire.size)
    us = np.exp(sigma_log(scatter) * special.ndtri((place + 0.5) / wire.size))
    return Log(
        source=str(low),
        sha256=combine_digests(read),
        what="CPU time per request when saturated",
        wall_us=us * (cost.cost_us / float(us.mean())),
        outside_us=outside,
        wake_us=wake,
        unknown=(
            Note(
                "unknown-service-law",
                f"the law of the service: its mean is {cost.cost_us:.3g} µs"
                f"{_interval(cost.low_us, cost.high_us, '.3g')} (at {cost.rate_per_s:,.0f} requests/s),"
                f" its scatter {told}; its tail is unknown",
                {
                    "mean_us": cost.cost_us,
                    "mean_low_us": _number(cost.low_us),
                    "mean_high_us": _number(cost.high_us),
                    "scatter": scatter,
                    "scatter_low": bounds[0],
                    "scatter_high": bounds[1],
                },
            ),
            Note(
                "unknown-wakeup-share",
                f"how much of {wake:.3g} µs of wire time is wake-up, and how much network",
                {"wire_us": wake},
            ),
        ),
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _interval(low: float, high: float, digits: str) -> str:
    return "" if math.isnan(low) else f" [{low:{digits}}, {high:{digits}}]"
