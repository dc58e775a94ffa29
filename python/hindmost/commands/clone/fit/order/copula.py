"""The autocorrelation that a document needs so that its simulated times have the measured one.

The engine correlates the scores by which it draws: they select the component (by rising mean) and then the
time within it. Where components overlap, a larger score is not always a longer time, so the times are less
correlated than the scores.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.laws.families import Mixture, Model
from hindmost.commands.clone.fit.order.successive import autocorrelation, normal_scores

DRAWN = 50_000
ROUNDS = 6
HIGHEST = 0.995


def score_autocorrelation(model: Model, wanted: float) -> float:
    """Find the autocorrelation of scores that gives a law's times the wanted autocorrelation.

    Parameters
    ----------
    model : Model
        The law. An empirical law, or one with a single component, needs no correction.
    wanted : float
        Lag-1 autocorrelation of the normal scores of the times.
    """
    if wanted == 0.0 or not isinstance(model, Mixture) or len(model.laws) == 1:
        return wanted
    said = wanted
    for _ in range(ROUNDS):
        said *= wanted / _resulting_autocorrelation(model, said)
        if abs(said) >= HIGHEST:
            return math.copysign(HIGHEST, said)
    return said


def _resulting_autocorrelation(model: Mixture, said: float) -> float:
    from scipy.signal import lfilter  # type: ignore[import-untyped]

    fresh = np.random.default_rng(1).standard_normal(DRAWN) * math.sqrt(1.0 - said * said)
    return autocorrelation(normal_scores(_times(model, special.ndtr(lfilter([1.0], [1.0, -said], fresh)))), 1)


def _times(model: Mixture, u: Floats) -> Floats:
    """Draw times as the engine does: first the component by rising mean, then the time within it."""
    order = np.argsort([law.mean for law in model.laws])
    edges = np.cumsum([model.weights[place] for place in order])
    place = np.minimum(np.searchsorted(edges, u, side="right"), len(order) - 1)
    times = np.empty_like(u)
    for at, component in enumerate(order):
        own = place == at
        weight = model.weights[component]
        within = np.clip((u[own] - (edges[at] - weight)) / weight, 1e-12, 1 - 1e-12)
        times[own] = Mixture((1.0,), (model.laws[component],)).quantile(within)
    return times
