"""The scatter of service times of a server without a log, from a study at half load.

At low load, wire times scatter because of both services and wake-ups, and for a fast server mainly because of
wake-ups: for nginx, the quartiles would make services of 8 us look exponential. At half load, requests wait
for each other, and longer the more services scatter; only requests that find the server asleep see a wake-up.
The scatter is therefore chosen so that the simulated p95 equals the measured one; all other parameters of the
clone are known by then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hindmost.commands.clone.document import SCHEMA, Clone
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.core.store.measure import Measure
from hindmost.core.store.reading import load
from hindmost.errors import StudyError, UsageError

LEAST, MOST = 0.05, 1.0
"""Range of the coefficient of variation: nearly constant to exponential."""

LOADS = (0.3, 0.8)
"""Usable range of the utilisation: below, too few requests wait; above, the host determines the p95."""

LEAST_RUNS = 4
"""Fewest runs whose smallest and largest values enclose the median with a probability of 87.5 % or more."""

STEPS = 8
"""Bisection steps, after which the scatter is known to 0.004."""

DESIGN = Design(requests=100_000, quantiles=(0.95,))


@dataclass(frozen=True)
class Scatter:
    """The coefficient of variation of service times.

    Parameters
    ----------
    value : float
        Between `LEAST` and `MOST`.
    low, high : float
        Values for the smallest and largest p95 of the runs; NaN with fewer than `LEAST_RUNS` runs.
    source : str
        The study.
    """

    value: float
    low: float
    high: float
    source: str


def sigma_log(scatter: float) -> float:
    """Return the standard deviation of the logarithm of a lognormal time.

    Examples
    --------
    >>> round(sigma_log(1.0), 4)
    0.8326
    """
    return math.sqrt(math.log1p(scatter * scatter))


def find_scatter(cost_us: float, wake_us: float, outside_us: float, folder: Path) -> Scatter:
    """Find the scatter whose simulated p95 equals the measured one.

    Parameters
    ----------
    cost_us : float
        Mean service time.
    wake_us, outside_us : float
        Wake-up and network time of the document.
    folder : Path
        A study of the server in an open loop, at about half of its capacity.

    Raises
    ------
    StudyError
        The folder has no complete result.
    UsageError
        The load was too low or too high.
    """
    try:
        result = load(folder / "result.json", Measure)
        measured = [
            us
            for run in result.runs
            if run.verdict != "invalid" and not run.excluded and (us := run.latency_us["p95"]) is not None
        ]
        usual_us = median(measured)  # a run that the host stalled would dominate the mean
        rate = result.throughput.achieved
    except (OSError, ValueError, KeyError) as error:
        raise StudyError(
            "incomplete-study",
            f"{folder} has no complete result with a p95: {error}",
            hint=f"hindmost study report {folder}",
            path=str(folder),
            key="p95",
        ) from None
    utilisation = rate * cost_us / 1e6
    if not LOADS[0] <= utilisation <= LOADS[1]:
        raise UsageError(
            "unsuitable-load",
            f"{folder}: at {rate:,.0f} requests/s the server is busy for {utilisation:.0%} of the time; the"
            f" tail shows how services scatter only between {LOADS[0]:.0%} and {LOADS[1]:.0%}",
            hint=f"hindmost measure TARGET --rate {0.5e6 / cost_us:.0f}",
            path=str(folder),
            value=utilisation,
            least=LOADS[0],
            most=LOADS[1],
            rate_per_s=0.5e6 / cost_us,
        )
    body = {"schema": SCHEMA, "name": "scatter", "wake_us": wake_us, "outside_us": outside_us}

    def p95(scatter: float) -> float:
        sigma = sigma_log(scatter)
        law = {"kind": "lognormal", "median_us": cost_us * math.exp(-sigma * sigma / 2.0), "sigma_log": sigma}
        clone = Clone.from_document(
            {**body, "service": [{"law": law, "weight": 1.0}]}, f"the clone of {folder}"
        )
        point: dict[str, Any] = {"load": {"rate_per_s": rate}}
        return run_points(clone, [point], DESIGN)[0].prediction.latency_us["p95"].value

    def where(us: float) -> float:
        low, high = LEAST, MOST
        for _ in range(STEPS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if p95(middle) < us else (low, middle)
        return (low + high) / 2.0

    usual = where(usual_us)
    if len(measured) < LEAST_RUNS:
        return Scatter(usual, math.nan, math.nan, str(folder))
    return Scatter(usual, where(min(measured)), where(max(measured)), str(folder))
