"""Which autocorrelation a document must say, so that its times have the one that was found.

The engine correlates the scores by which it draws: first the component, by rising mean, then the time within.
Where components overlap, a larger score is not always a longer time, and what comes out is less correlated.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.models.fit.bins import Floats
from hindmost.models.fit.laws.families import Mixture, Model
from hindmost.models.fit.order.successive import autocorrelation, normal_scores

DRAWN = 50_000
ROUNDS = 6
HIGHEST = 0.995


def said_autocorrelation(model: Model, wanted: float) -> float:
    """Autocorrelation of the scores that gives the times of a law the one that is wanted.

    Parameters
    ----------
    model : Model
        The law; an empirical one, or one without components, needs nothing.
    wanted : float
        Lag-1 autocorrelation of the normal scores of the times.
    """
    if wanted == 0.0 or not isinstance(model, Mixture) or len(model.laws) == 1:
        return wanted
    said = wanted
    for _ in range(ROUNDS):
        said *= wanted / _carried(model, said)
        if abs(said) >= HIGHEST:
            return math.copysign(HIGHEST, said)
    return said


def _carried(model: Mixture, said: float) -> float:
    from scipy.signal import lfilter  # type: ignore[import-untyped]

    fresh = np.random.default_rng(1).standard_normal(DRAWN) * math.sqrt(1.0 - said * said)
    return autocorrelation(normal_scores(_times(model, special.ndtr(lfilter([1.0], [1.0, -said], fresh)))), 1)


def _times(model: Mixture, u: Floats) -> Floats:
    """Times as the engine draws them: the component by rising mean, the time by what is left."""
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
