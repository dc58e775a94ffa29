"""How the services of a server without a log scatter: from a study at half load.

At low load the wire times scatter as services and wake-ups do together, and of a fast server it is the
wake-ups: of nginx, quartiles that would make services of 8 us exponential. At half load requests wait for
each other, and for longer the more services scatter; only those who find the server asleep meet a wake-up.
So the scatter is the one with which the simulator's p95 is the measured one; everything else of the clone
is known by then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hindmost.errors import StudyError, UsageError
from hindmost.models.document import SCHEMA, Clone
from hindmost.models.simulation import Design, run_points
from hindmost.store.reading import read_document

LEAST, MOST = 0.05, 1.0
"""Standard deviation over mean that services may have: a law that hardly scatters, and the exponential's."""

LOADS = (0.3, 0.8)
"""Share of the time in which the server is busy: below, too few requests wait; above, it is the host that
makes p95."""

LEAST_RUNS = 4
"""Runs from which on the least and the greatest enclose the median with a chance of 87.5 % and more."""

STEPS = 8
"""Halvings of the interval: the scatter is then known to 0.004."""

DESIGN = Design(requests=100_000, quantiles=(0.95,))


@dataclass(frozen=True)
class Scatter:
    """Standard deviation of the service over its mean.

    Parameters
    ----------
    value : float
        Between `LEAST` and `MOST`.
    low, high : float
        Of the runs' least and greatest p95; NaN below `LEAST_RUNS` runs.
    source : str
        The study.
    """

    value: float
    low: float
    high: float
    source: str


def sigma_log(scatter: float) -> float:
    """Standard deviation of the logarithm of a lognormal time.

    Examples
    --------
    >>> round(sigma_log(1.0), 4)
    0.8326
    """
    return math.sqrt(math.log1p(scatter * scatter))


def find_scatter(cost_us: float, wake_us: float, outside_us: float, folder: Path) -> Scatter:
    """Find it.

    Parameters
    ----------
    cost_us : float
        Mean service time.
    wake_us, outside_us : float
        Of the document.
    folder : Path
        A study of the server in an open loop, at about half of its capacity.

    Raises
    ------
    StudyError
        There is no whole answer in the folder.
    UsageError
        The load was too low or too high.
    """
    try:
        result = read_document(folder / "result.json")
        measured = [
            float(run["latency_us"]["p95"])
            for run in result["runs"]
            if run.get("verdict") != "invalid" and not run.get("set_aside")
        ]
        usual_us = median(measured)  # a run that the host stalled would make a mean of its own
        rate = float(result["throughput"]["achieved"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StudyError(
            "incomplete-study",
            f"{folder} has no complete result with a p95: {error}",
            hint=f"hindmost study report {folder}",
            path=str(folder),
            key="p95",
        ) from None
    load = rate * cost_us / 1e6
    if not LOADS[0] <= load <= LOADS[1]:
        raise UsageError(
            "unsuitable-load",
            f"{folder}: at {rate:,.0f} requests/s the server is busy for {load:.0%} of the time; the tail"
            f" shows how services scatter only between {LOADS[0]:.0%} and {LOADS[1]:.0%}",
            hint=f"hindmost measure TARGET --rate {0.5e6 / cost_us:.0f}",
            path=str(folder),
            value=load,
            least=LOADS[0],
            most=LOADS[1],
            rate_per_s=0.5e6 / cost_us,
        )
    body = {"schema": SCHEMA, "name": "scatter", "wake_us": wake_us, "outside_us": outside_us}

    def p95(scatter: float) -> float:
        sigma = sigma_log(scatter)
        law = {"kind": "lognormal", "median_us": cost_us * math.exp(-sigma * sigma / 2.0), "sigma_log": sigma}
        clone = Clone.of({**body, "service": [{"law": law, "weight": 1.0}]}, f"the clone of {folder}")
        point: dict[str, Any] = {"load": {"rate_per_s": rate}}
        return float(run_points(clone, [point], DESIGN)[0].prediction["latency_us"]["p95"]["value"])

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
