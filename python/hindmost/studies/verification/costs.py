"""How much the CPU time that requests happened to cost moves their latency: a second control variate [1]_.

A request of an original takes 5 to 10 % more or less CPU time from one minute to the next, by whoever
shares the host; and those that a run drew are longer or shorter than others. A clone takes the time that
its document says. At 70 % load a percent of the service is three of the latency, so that this alone makes
pairs scatter by a tenth and more.

What requests cost is known of every run: the kernel's CPU time of the server over its requests. It is
known, too, of the studies in which the logs were made that the clone is fitted to. The simulator serves the
clone once as it is, and once with all times longer by what a request cost in the run over what it cost when
it was logged; the ratio of the two is the control variate. Taken off, what is left compares law,
queue, wake-ups and interruptions: the clone and its original *as it was logged*. How much the cost has
changed is a figure of its own.

.. [1] A. M. Law, Simulation Modeling and Analysis, section 11.4 (control variates).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hindmost.models import Clone
from hindmost.models.parameters import FACTOR, changes
from hindmost.models.simulation import Design, run_points
from hindmost.studies.verification.logged import Logged, cost_us

DESIGN = Design(requests=400_000, quantiles=(0.95, 0.99), sections=1)
"""All points draw the same, so that their ratios are known far better than they are."""

COST = "cost"

CostRatios = dict[int, dict[str, dict[str, float]]]
"""Pair, then series, then figure of the latency: how much longer the costs of that run made it; and `COST`:
what a request cost over what it cost when it was logged."""


def longer_by(clone: Clone, rate_per_s: float, factors: Sequence[float]) -> list[dict[str, float] | None]:
    """By how much latencies grow if a clone's times do.

    Parameters
    ----------
    clone : Clone
        Any.
    rate_per_s : float
        How fast requests arrive.
    factors : sequence of float
        Times over those of the document.

    Returns
    -------
    list
        For each factor, figure to ratio: ``mean``, ``p95``, ``p99``; None of one with which the clone could
        not serve so many.

    Examples
    --------
    >>> from hindmost.models import load_clone
    >>> grown = longer_by(load_clone("xapian"), 1.0, [1.0, 1.1, 1e6])
    >>> round(grown[0]["mean"], 6), round(grown[1]["mean"], 2), grown[2]
    (1.0, 1.1, None)
    """

    def point(factor: float) -> dict[str, Any]:
        new = changes(clone.document, {FACTOR: factor})
        if arrival_us := clone.document.get("arrival_us"):
            new["/arrival_us"] = factor * arrival_us
        return {"load": {"rate_per_s": rate_per_s}, "set": new}

    found = [one.prediction for one in run_points(clone, [point(one) for one in (1.0, *factors)], DESIGN)]
    own, *others = (
        {name: one["value"] for name, one in of["latency_us"].items()} if of["state"] == "done" else None
        for of in found
    )
    return [
        None if own is None or one is None else {name: one[name] / own[name] for name in one}
        for one in others
    ]


def cost_ratios(
    clone: Clone,
    rate_per_s: float,
    runs: Mapping[str, Mapping[int, Mapping[str, Any]]],
    pairs: Sequence[int],
    logged: Logged,
) -> CostRatios:
    """How much longer its cost made each run of the original, for pairs in which that is known of both."""
    others = [who for who in runs if who != "clone"]
    costs = {(pair, who): cost_us(runs[who][pair]) for pair in pairs for who in others}
    known = {which: cost / logged.at(clone, rate_per_s) for which, cost in costs.items() if cost is not None}
    ratios = dict(zip(known, longer_by(clone, rate_per_s, list(known.values())), strict=True))
    found: CostRatios = {}
    for pair in pairs:
        by = {
            who: one | {COST: known[pair, who]}
            for who in others
            if (one := ratios.get((pair, who))) is not None
        }
        if len(by) == len(others):
            found[pair] = by
    return found
