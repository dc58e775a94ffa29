"""What two cards say of a server beside a job, without pairs to learn from: several guesses, side by side.

None has a coefficient that was fitted: each stands beside *zero*, which is hard to beat where most pairs do
nothing to each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hindmost.colocation.profiles import Array
from hindmost.colocation.tail import mm1
from hindmost.colocation.waiting import Solo, enough, seen

if TYPE_CHECKING:
    from hindmost.store.colocation import Predicted

DRAWS = 60
"""Of what is known with errors, for the interval of a guess."""
_SIGMAS = 3.92
"""Between the ends of an interval of 95 %."""
_Axes = list[tuple[Mapping[str, float | None], float]]
_Guess = tuple[float, float, float]
"""Loss of rate, growth of p50 and p99; infinite where a queue would not end."""


def predicted(
    server: Mapping[str, Any], job: Mapping[str, Any], solo: Solo | None = None, *, seed: int = 1
) -> list[Predicted]:
    """Guess the loss of rate, and by what share p50 and p99 grow.

    Parameters
    ----------
    server, job : dict
        Cards; the server's with ``loaded``.
    solo : Solo, optional
        The server alone, under the load that is asked about; without it Eq 3.6 is the only queue, at the
        load of the card.
    seed : int
        Of the draws that give p99 its interval, from those of the cards.

    Returns
    -------
    list of Predicted
        *zero*; *mean ruler*: the server beside a ruler, whoever the job is; *product*: sensitivities times
        what the job takes of each ruler, summed (Eq 3.3 with coefficients of 1, logarithms of growth);
        *worst ruler*: among those that the job slows for sure; *M/M/1*: Eq 3.6 with the loss of *product*;
        *M/G/1*: a queue of the server's own service times, slower by that loss; *quantile map*: each as
        its quantile grows by *product*; *regimes*: that with slow spells kept together.
    """
    taken = {axis["ruler"]: axis["contentiousness"] for axis in job["axes"]}
    axes = [
        (axis, taken[axis["ruler"]])
        for axis in server["axes"]
        if taken.get(axis["ruler"]) is not None and axis["sensitivity"] is not None
    ]
    busy = server["loaded"]["busy"]

    def guesses(value: Callable[[Mapping[str, float]], float]) -> dict[str, _Guess]:
        known = [(_axis(axis, value), value(con), con["low"] > 0) for axis, con in axes]
        return _guesses(known, busy, solo)

    rng = np.random.default_rng(seed)
    drawn = [
        guesses(lambda one: rng.normal(one["value"], (one["high"] - one["low"]) / _SIGMAS))
        for _ in range(DRAWS)
    ]
    return told(guesses(lambda one: one["value"]), drawn)


def carried(
    lighter: Sequence[Array], beside: Sequence[Array], growth: _Guess, solo: Solo, *, seed: int = 1
) -> list[Predicted]:
    """Guess growth under a load from what was seen under a lighter one: the queue alone is predicted.

    Parameters
    ----------
    lighter, beside : sequence of array
        Service times of windows under the lighter load, without and with the job.
    growth : tuple of float
        What was measured there: loss of rate, growth of p50 and p99.
    solo : Solo
        The server alone, under the load that is asked about.
    seed : int
        Of the windows that are drawn again for intervals.

    Returns
    -------
    list of Predicted
        *lighter: no more*: it grows as it did; and the models of queues; none of too few requests.
    """
    rng = np.random.default_rng(seed)

    def again(windows: Sequence[Array]) -> list[Array]:
        return [windows[at] for at in rng.integers(0, len(windows), len(windows))]

    def guesses(before: Sequence[Array], after: Sequence[Array]) -> dict[str, _Guess]:
        stretch = seen(before, after)
        return {f"lighter: {name}": (stretch.lost, *both) for name, both in solo.grown(stretch).items()}

    if not (enough(lighter) and enough(beside)):
        return []
    drawn = [guesses(again(lighter), again(beside)) for _ in range(DRAWS)]
    flat = {"model": "lighter: no more", "lost": growth[0], "p50": growth[1], "p99": growth[2]}
    return [{**flat, "p99_low": None, "p99_high": None}, *told(guesses(lighter, beside), drawn)]  # type: ignore[typeddict-item]


def told(found: Mapping[str, _Guess], drawn: Sequence[Mapping[str, _Guess]]) -> list[Predicted]:
    """Write guesses as a document has them, with the interval (95 %) of p99 from those of draws."""
    guesses: list[Predicted] = []
    for model, (lost, p50, p99) in found.items():
        low, high = np.quantile([one[model][2] for one in drawn], [0.025, 0.975], method="nearest")
        guesses.append(
            {
                "model": model,
                "lost": lost,
                "p50": _finite(p50),
                "p99": _finite(p99),
                "p99_low": _finite(low),
                "p99_high": _finite(high),
            }
        )
    return guesses


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _axis(axis: Mapping[str, Any], value: Callable[[Mapping[str, float]], float]) -> dict[str, float | None]:
    """A ruler's figures: loss of rate, and logarithms of growth."""

    def grown(share: Mapping[str, float] | None) -> float | None:
        if share is None:
            return None
        return value({key: math.log1p(max(share[key], -0.99)) for key in ("value", "low", "high")})

    latency = axis["latency"]
    lost = value(axis["sensitivity"])
    return {"lost": lost, "p50": grown(latency["p50"]), "p99": grown(latency["p99"])}


def _guesses(
    known: Sequence[tuple[dict[str, float | None], float, bool]], busy: float, solo: Solo | None
) -> dict[str, _Guess]:
    shares: _Axes = [(axis, max(0.0, con)) for axis, con, _ in known]
    slowed: _Axes = [(axis, 1.0) for axis, _, sure in known if sure]
    mean: _Axes = [(axis, 1 / len(known)) for axis, _, _ in known]
    product = _guess(shares, sum)
    found = {
        "zero": (0.0, 0.0, 0.0),
        "mean ruler": _guess(mean, sum),
        "product": product,
        "worst ruler": _guess(slowed, lambda each: max(each, default=0.0)),
    }
    if solo is None:
        grown = mm1(0.99, busy, product[0]) / mm1(0.99, busy) - 1
        # Exponential latency: every percentile grows alike.
        return found | {"M/M/1": (product[0], grown, grown)}
    waits = solo.grown(solo.from_cards(*product))
    return found | {model: (product[0], *both) for model, both in waits.items()}


def _guess(axes: _Axes, of: Callable[[list[float]], float]) -> _Guess:
    def total(what: str) -> float:
        return of([share * one for axis, share in axes if (one := axis[what]) is not None])

    return total("lost"), math.expm1(total("p50")), math.expm1(total("p99"))
