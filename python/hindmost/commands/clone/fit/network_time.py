"""The wake-up and network time of an idle server, from a study at low load.

A server's log begins when it has a request. Time before that appears only in the client's latency: the kernel
that wakes a thread, sockets, and the client's own time. At low load, half of all requests find the server
idle and wait for nothing else. The time is therefore the difference of two medians: that of the measured
latencies, and that of the clone simulated without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.core.store.measure import Measure
from hindmost.core.store.reading import load
from hindmost.errors import StudyError, UsageError
from hindmost.stats import positive_mean_interval

NEAR = 0.9
"""Ratio of the study's median to the clone's. Between this and 1, the network time is too short to be seen;
below, study and log are of different servers."""

MOST = 0.35
"""Load above which the median request has waited for others."""


@dataclass(frozen=True)
class NetworkTime:
    """Time before and after the server for a request that finds it idle.

    Parameters
    ----------
    us : float
        Microseconds; 0 if too short compared with the services.
    low_us, high_us : float
        95 % interval over the study's runs; NaN for one run.
    source : str
        The study.
    """

    us: float
    low_us: float
    high_us: float
    source: str


def find_network_time(clone: Clone, folder: Path) -> NetworkTime:
    """Estimate the wake-up and network time by comparing medians.

    Raises
    ------
    StudyError
        The folder has no complete result.
    UsageError
        The load was too high, or the clone is slower than its original even without network time.
    """
    try:
        result = load(folder / "result.json", Measure)
        medians = [
            us for run in result.runs if not run.excluded and (us := run.latency_us["p50"]) is not None
        ]
        rate = result.throughput.achieved
    except (OSError, ValueError, KeyError) as error:
        raise StudyError(
            "incomplete-study",
            f"{folder} has no complete result with a p50: {error}",
            hint=f"hindmost study report {folder}",
            path=str(folder),
            key="p50",
        ) from None
    most = clone.rate_at(MOST)
    if most is not None and rate > most:
        raise UsageError(
            "unsuitable-load",
            f"{folder}: at {rate:,.0f} requests/s the clone's threads are busy for over {MOST:.0%} of the"
            " time, so the median request waits for others",
            hint=f"hindmost measure TARGET --rate {max(1, round(0.2 / MOST * most))}",
            path=str(folder),
            value=rate,
            most=most,
            unit="1/s",
        )
    design = Design(requests=200_000, quantiles=(0.5,))
    bare = clone.with_changes(wake_us=0.0, outside_us=0.0)
    (outcome,) = run_points(bare, [{"load": {"rate_per_s": rate}}], design)
    told = outcome.prediction.latency_us["p50"].value
    found = positive_mean_interval(medians)
    if NEAR * told < found.value <= told:
        return NetworkTime(0.0, math.nan, math.nan, str(folder))
    if found.value <= told:
        raise UsageError(
            "different-servers",
            f"{folder}: its median is {found.value:.4g} µs, but a request takes the clone {told:.4g} µs"
            " without the network: study and log are of different servers or loads",
            hint="log and measure at the same time: hindmost measure 'TARGET?log=FILE' --out STUDY",
            path=str(folder),
            value=found.value,
            least=told,
            unit="us",
        )
    known = not math.isnan(found.low)
    return NetworkTime(
        found.value - told,
        max(0.0, found.low - told) if known else math.nan,
        found.high - told if known else math.nan,
        str(folder),
    )
