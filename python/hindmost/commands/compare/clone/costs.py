"""A control variate: the effect of the CPU time per request on the latency of the original [1]_.

On a shared host, a request of the original takes 5 to 10 % more or less CPU time from one minute to the next.
The requests that a run draws also differ in size. A clone takes the time that its document says. At 70 %
load, 1 % more service time is 3 % more latency, so this alone makes pairs scatter by a tenth and more.

The CPU time per request of every run is known: the kernel's CPU time of the server over its requests. It is
also known for the studies whose logs the clone is fitted to. The simulator serves the clone as it is, and
with all times multiplied by the ratio of these two costs. The ratio of the two latencies is the control
variate. Once it is divided out, the comparison covers the law, queueing, wake-ups and interruptions: the
clone, and its original *as it was logged*. The change of the cost itself is reported, too.

.. [1] A. M. Law, Simulation Modeling and Analysis, section 11.4 (control variates).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.parameters import FACTOR, changes
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.commands.compare.clone.log_costs import cost_at, request_cost_us
from hindmost.core.store.manifest import LoggedCost
from hindmost.core.store.measure import Run

DESIGN = Design(requests=400_000, quantiles=(0.95, 0.99), sections=1)
"""All points use the same draws, so their ratios are known far better than the latencies."""

COST = "cost"

CostRatios = dict[int, dict[str, dict[str, float]]]
"""Pair to series to figure: the factor by which the run's cost increased the figure.

`COST` is the cost itself, relative to the cost when it was logged.
"""


def slowdown(clone: Clone, rate_per_s: float, factors: Sequence[float]) -> list[dict[str, float] | None]:
    """Simulate how much the latencies of a clone grow if all its times are multiplied by a factor.

    Parameters
    ----------
    clone : Clone
        The clone.
    rate_per_s : float
        Arrival rate.
    factors : sequence of float
        Factors on the times of the document.

    Returns
    -------
    list
        For each factor, ratios of ``mean``, ``p95`` and ``p99``; None if the slowed clone could not serve the
        rate.

    Examples
    --------
    >>> from hindmost.commands.clone.document import load_clone
    >>> grown = slowdown(load_clone("xapian"), 1.0, [1.0, 1.1, 1e6])
    >>> round(grown[0]["mean"], 6), round(grown[1]["mean"], 2), grown[2]
    (1.0, 1.1, None)
    """

    def point(factor: float) -> dict[str, Any]:
        new = changes(clone.document, {FACTOR: factor})
        if arrival_us := clone.document.get("arrival_us"):
            new["/arrival_us"] = factor * arrival_us
        return {"load": {"rate_per_s": rate_per_s}, "set": new}

    outcomes = run_points(clone, [point(one) for one in (1.0, *factors)], DESIGN)
    base, *slowed = (
        {name: one.value for name, one in outcome.prediction.latency_us.items()}
        if outcome.prediction.state == "done"
        else None
        for outcome in outcomes
    )
    return [
        None if base is None or one is None else {name: one[name] / base[name] for name in one}
        for one in slowed
    ]


def cost_ratios(
    clone: Clone,
    rate_per_s: float,
    runs: Mapping[str, Mapping[int, Run]],
    pairs: Sequence[int],
    logged: LoggedCost,
) -> CostRatios:
    """Return the effect of the cost on each run of the original, for pairs in which both costs are known."""
    originals = [series for series in runs if series != "clone"]
    costs = {(pair, series): request_cost_us(runs[series][pair]) for pair in pairs for series in originals}
    relative = {
        key: cost / cost_at(logged, clone, rate_per_s) for key, cost in costs.items() if cost is not None
    }
    effects = dict(zip(relative, slowdown(clone, rate_per_s, list(relative.values())), strict=True))
    found: CostRatios = {}
    for pair in pairs:
        known = {
            series: effect | {COST: relative[pair, series]}
            for series in originals
            if (effect := effects.get((pair, series))) is not None
        }
        if len(known) == len(originals):
            found[pair] = known
    return found
