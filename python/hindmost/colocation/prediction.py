"""What two cards say of a server beside a job, without pairs to learn from: several guesses, side by side.

None has a coefficient that was fitted: each stands beside *zero*, which is hard to beat where most pairs do
nothing to each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hindmost.colocation.tail import mm1

if TYPE_CHECKING:
    from hindmost.store.colocation import Predicted

_Axes = list[tuple[Mapping[str, Any], float]]


def predicted(server: Mapping[str, Any], job: Mapping[str, Any]) -> list[Predicted]:
    """Guess the loss of rate, and by what share p50 and p99 grow.

    Parameters
    ----------
    server, job : dict
        Cards; the server's with ``loaded``.

    Returns
    -------
    list of Predicted
        *zero*; *mean ruler*: the server beside a ruler, whoever the job is; *product*: sensitivities times
        what the job takes of each ruler, summed (Eq 3.3 with coefficients of 1, logarithms of growth);
        *worst ruler*: among those that the job slows for sure; *M/M/1*: Eq 3.6 with the loss of *product*
        and the load at which the server was profiled.
    """
    taken = {axis["ruler"]: axis["contentiousness"] for axis in job["axes"]}
    axes = [
        (axis, taken[axis["ruler"]])
        for axis in server["axes"]
        if taken.get(axis["ruler"]) is not None and axis["sensitivity"] is not None
    ]
    shares: _Axes = [(axis, max(0.0, con["value"])) for axis, con in axes]
    slowed: _Axes = [(axis, 1.0) for axis, con in axes if con["low"] > 0]
    mean: _Axes = [(axis, 1 / len(axes)) for axis, _ in axes]
    product = _guess("product", shares, sum)
    busy = server["loaded"]["busy"]
    grown = mm1(0.99, busy, product["lost"]) / mm1(0.99, busy) - 1
    return [
        {"model": "zero", "lost": 0.0, "p50": 0.0, "p99": 0.0},
        _guess("mean ruler", mean, sum),
        product,
        _guess("worst ruler", slowed, lambda found: max(found, default=0.0)),
        {
            "model": "M/M/1",
            "lost": product["lost"],
            # Exponential latency: every percentile grows alike.
            "p50": grown if math.isfinite(grown) else None,
            "p99": grown if math.isfinite(grown) else None,
        },
    ]


def _guess(model: str, axes: _Axes, of: Callable[[list[float]], float]) -> Predicted:
    def grown(level: str) -> float:
        return math.expm1(
            of([share * math.log1p(one["value"]) for axis, share in axes if (one := axis["latency"][level])])
        )

    lost = of([share * axis["sensitivity"]["value"] for axis, share in axes])
    return {"model": model, "lost": lost, "p50": grown("p50"), "p99": grown("p99")}
