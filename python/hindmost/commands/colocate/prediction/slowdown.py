"""Predictions of a server's growth next to a job from two profiles, without learning from pairs.

No model has a fitted coefficient. Each is compared with *zero*, which is hard to beat where most pairs do
nothing to each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hindmost.commands.colocate.documents.profiles import PredictedLoss
from hindmost.commands.colocate.prediction.profiles import Array
from hindmost.commands.colocate.prediction.queues import Solo, has_enough_services, measure_stretch
from hindmost.commands.colocate.prediction.tail import mm1

if TYPE_CHECKING:
    from hindmost.commands.colocate.documents.profiles import Growth, Profile, Share

DRAWS = 60
"""Random draws of uncertain figures, for the interval of a prediction."""
_Axes = list[tuple[Mapping[str, float | None], float]]
_Guess = tuple[float, float, float]
"""Loss of rate, growth of p50, growth of p99; infinite if a queue grows without end."""


def predict_growth(
    server: Profile, job: Profile, solo: Solo | None = None, *, seed: int = 1
) -> list[PredictedLoss]:
    """Predict the loss of rate, and the growth of p50 and p99 as shares.

    Parameters
    ----------
    server, job : Profile
        The server's with ``loaded``.
    solo : Solo, optional
        The server alone, under the load in question. Without it, Eq 3.6 is the only queue, at the load of the
        profile.
    seed : int
        Random seed for the draws from the profiles, which give p99 its interval.

    Returns
    -------
    list of PredictedLoss
        *zero*; *mean stressor*: the server next to a stressor, whatever the job; *product*: sensitivities
        times the job's contentiousness, summed (Eq 3.3 with coefficients of 1, on logarithms of growth);
        *worst stressor*: the worst of the stressors that the job certainly slows; *M/M/1*: Eq 3.6 with the
        loss of *product*; *M/G/1*: a queue of the server's own service times, slower by that loss; *quantile
        map*: each service time grows like its quantile in *product*; *regimes*: the same, with slow periods
        kept together.
    """
    assert server.loaded
    busy = server.loaded.busy
    taken = {axis.stressor: axis.contentiousness for axis in job.axes}
    axes = [
        (axis.sensitivity, axis.latency, con)
        for axis in server.axes
        if axis.sensitivity is not None and axis.latency and (con := taken.get(axis.stressor)) is not None
    ]

    def guesses(value: Callable[[Share], float]) -> dict[str, _Guess]:
        known = [(_axis(lost, latency, value), value(con), con.low > 0) for lost, latency, con in axes]
        return _guesses(known, busy, solo)

    rng = np.random.default_rng(seed)
    drawn = [guesses(lambda one: rng.normal(one.value, one.standard_error)) for _ in range(DRAWS)]
    return write_predictions(guesses(lambda one: one.value), drawn)


def predict_from_lighter(
    lighter: Sequence[Array], with_job: Sequence[Array], growth: _Guess, solo: Solo, *, seed: int = 1
) -> list[PredictedLoss]:
    """Predict growth under a load from measurements under a lighter one; only the queue is modelled.

    Parameters
    ----------
    lighter, with_job : sequence of array
        Service times of windows under the lighter load, without and with the job.
    growth : tuple of float
        Measured there: loss of rate, growth of p50 and p99.
    solo : Solo
        The server alone, under the load in question.
    seed : int
        Random seed for resampling windows, for the intervals.

    Returns
    -------
    list of PredictedLoss
        *lighter: no more*: the same growth as measured; and the models of queues. Empty with too few
        requests.
    """
    rng = np.random.default_rng(seed)

    def resample(windows: Sequence[Array]) -> list[Array]:
        return [windows[at] for at in rng.integers(0, len(windows), len(windows))]

    def guesses(before: Sequence[Array], after: Sequence[Array]) -> dict[str, _Guess]:
        stretch = measure_stretch(before, after)
        return {f"lighter: {name}": (stretch.lost, *both) for name, both in solo.growth(stretch).items()}

    if not (has_enough_services(lighter) and has_enough_services(with_job)):
        return []
    drawn = [guesses(resample(lighter), resample(with_job)) for _ in range(DRAWS)]
    lost, p50, p99 = growth
    flat = PredictedLoss(model="lighter: no more", lost=lost, p50=p50, p99=p99, p99_low=None, p99_high=None)
    return [flat, *write_predictions(guesses(lighter, with_job), drawn)]


def write_predictions(
    found: Mapping[str, _Guess], drawn: Sequence[Mapping[str, _Guess]]
) -> list[PredictedLoss]:
    """Write predictions for a document, with the 95 % interval of p99 from the random draws."""
    guesses: list[PredictedLoss] = []
    for model, (lost, p50, p99) in found.items():
        low, high = np.quantile([one[model][2] for one in drawn], [0.025, 0.975], method="nearest")
        guesses.append(
            PredictedLoss(
                model=model,
                lost=lost,
                p50=_finite(p50),
                p99=_finite(p99),
                p99_low=_finite(low),
                p99_high=_finite(high),
            )
        )
    return guesses


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _axis(lost: Share, latency: Growth, value: Callable[[Share], float]) -> dict[str, float | None]:
    """Return a stressor's figures: loss of rate, and logarithms of growth."""

    def grown(share: Share | None) -> float | None:
        return None if share is None else value(share.map(lambda one: math.log1p(max(one, -0.99))))

    return {"lost": value(lost), "p50": grown(latency.p50), "p99": grown(latency.p99)}


def _guesses(
    known: Sequence[tuple[dict[str, float | None], float, bool]], busy: float, solo: Solo | None
) -> dict[str, _Guess]:
    shares: _Axes = [(axis, max(0.0, con)) for axis, con, _ in known]
    slowed: _Axes = [(axis, 1.0) for axis, _, sure in known if sure]
    mean: _Axes = [(axis, 1 / len(known)) for axis, _, _ in known]
    product = _guess(shares, sum)
    found = {
        "zero": (0.0, 0.0, 0.0),
        "mean stressor": _guess(mean, sum),
        "product": product,
        "worst stressor": _guess(slowed, lambda each: max(each, default=0.0)),
    }
    if solo is None:
        grown = mm1(0.99, busy, product[0]) / mm1(0.99, busy) - 1
        # Latency is exponential, so every percentile grows by the same share.
        return found | {"M/M/1": (product[0], grown, grown)}
    waits = solo.growth(solo.from_cards(*product))
    return found | {model: (product[0], *both) for model, both in waits.items()}


def _guess(axes: _Axes, combine: Callable[[list[float]], float]) -> _Guess:
    def total(what: str) -> float:
        return combine([share * one for axis, share in axes if (one := axis[what]) is not None])

    return total("lost"), math.expm1(total("p50")), math.expm1(total("p99"))
