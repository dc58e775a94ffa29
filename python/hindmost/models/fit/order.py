"""How successive service times hang together: where they do, the largest error of all (research note, 3.1).

Two forms, as the clone document has them: a first-order autoregression of normal scores, and regimes in which
all requests are slower or faster. A form is taken if the latencies of the log in its own order come closer
with it, in parts of the log that it was not fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.models.fit.bins import Floats
from hindmost.models.fit.laws import rounded
from hindmost.models.fit.replay import LOADS, latencies, summary

LEAST_GAIN = 0.02
"""Two percent of a latency, below which no order is written down: it would be chance."""

PARTS = 6
ARRIVALS = 4
LONGEST = 100_000
"""Requests of a half that are replayed."""

REGIME_BLOCKS = (20, 50, 100, 200, 500, 1_000)
"""Requests over which the level of the service times is averaged to tell regimes."""

LEAST_STAYS = 6
"""Changes of regime without which their lengths cannot be told."""


def normal_scores(us: Floats) -> Floats:
    """Normal quantiles of the ranks; equal times get neighbouring ranks."""
    rank = np.empty(us.size)
    rank[np.argsort(us, kind="stable")] = np.arange(us.size)
    return np.asarray(special.ndtri((rank + 0.5) / us.size))


def autocorrelation(scores: Floats, lag: int) -> float:
    """Of normal scores."""
    return float(scores[:-lag] @ scores[lag:]) / float(scores @ scores)


@dataclass(frozen=True)
class Regimes:
    """Two levels of the service times, and how long they stay; none, where there is one level."""

    factors: tuple[float, float]
    stays: tuple[float, float]
    state: np.ndarray[tuple[int], np.dtype[np.int64]] = field(repr=False)

    @property
    def factor(self) -> Floats:
        """Factor of each request."""
        return np.asarray(self.factors)[self.state]


@dataclass(frozen=True)
class Order:
    """What is said of the order.

    Parameters
    ----------
    found : float
        Lag-1 autocorrelation of the normal scores.
    interval : tuple of float
        Its 95 % interval.
    autocorrelation : float
        What the document says: 0 where it does not help.
    regimes : Regimes or None
        What the document says.
    errors : dict
        Form to mean absolute error of the latencies in the log's own order.
    sorted_ : bool
        The times are sorted: their order is not in the log.
    """

    found: float
    interval: tuple[float, float]
    autocorrelation: float
    regimes: Regimes | None
    errors: dict[str, float]
    sorted_: bool = False

    def document(self, autocorrelation: float | None = None) -> dict[str, Any]:
        """Its text in a clone document; that of the scores, if it is another (see `copula`)."""
        told = self.autocorrelation if autocorrelation is None else autocorrelation
        said: dict[str, Any] = {"autocorrelation": rounded(told)}
        if self.regimes:
            said["regimes"] = [
                {"factor": rounded(factor), "mean_requests": rounded(stay)}
                for factor, stay in zip(self.regimes.factors, self.regimes.stays, strict=True)
            ]
        return said


def find_order(us: Floats) -> Order:
    """Judge both forms against the log's own order."""
    if (np.diff(us) >= 0).all() or (np.diff(us) <= 0).all():  # somebody sorted them
        return Order(0.0, (0.0, 0.0), 0.0, None, {}, sorted_=True)
    scores = normal_scores(us)
    rho = autocorrelation(scores, 1)
    spread = 1.96 * _spread(scores)
    forms: dict[str, Form] = {"independent": lambda part: (0.0, None)}
    if abs(rho) > spread:
        forms["autoregression"] = _autoregression
    if find_regimes(us):
        forms["regimes"] = lambda part: (0.0, find_regimes(part))
        forms["regimes and autoregression"] = _both
    errors = {name: _error(us, form) for name, form in forms.items()} if len(forms) > 1 else {}
    best = min(errors, key=lambda name: errors[name], default="independent")
    taken = best if errors and errors["independent"] - errors[best] > LEAST_GAIN else "independent"
    return Order(rho, (rho - spread, rho + spread), *forms[taken](us), errors)


Form = Callable[[Floats], tuple[float, "Regimes | None"]]
"""Fits one form to a part of the log."""


def _autoregression(part: Floats) -> tuple[float, Regimes | None]:
    return autocorrelation(normal_scores(part), 1), None


def _both(part: Floats) -> tuple[float, Regimes | None]:
    regimes = find_regimes(part)
    within = part if regimes is None else part / regimes.factor
    return autocorrelation(normal_scores(within), 1), regimes


def _spread(scores: Floats) -> float:
    """Standard error of the lag-1 autocorrelation, from its values in parts of the log."""
    parts = max(PARTS, min(30, scores.size // 400))
    found = [float((part[:-1] * part[1:]).mean()) for part in np.array_split(scores, parts)]
    return max(float(np.std(found, ddof=1)) / math.sqrt(parts), 1.0 / math.sqrt(scores.size))


def find_regimes(us: Floats) -> Regimes | None:
    """Two levels, told by the means of blocks of requests; None where one explains them.

    The block is the one in which the two levels are farthest apart in units of what is left within them.
    """
    x = np.log(us)
    spread = float(x.std())
    best: tuple[float, np.ndarray[Any, Any], int] | None = None
    for size in REGIME_BLOCKS:
        count = x.size // size
        if count < 20:
            break
        means = x[: count * size].reshape(count, size).mean(axis=1)
        low, high, cut = _two_means(means)
        inner = np.where(means > cut, means - high, means - low)
        apart = (high - low) / max(float(inner.std()), 1e-12)
        # Of blocks of independent times, the two halves lie 2.65 standard deviations of what is left apart.
        chance = spread / math.sqrt(size)
        if apart > 4.0 and high - low > 4.0 * chance and (best is None or apart > best[0]):
            best = (apart, means > cut, size)
    if best is None:
        return None
    _, slow, size = best
    state = np.repeat(slow.astype(np.int64), size)
    state = np.concatenate([state, np.full(us.size - state.size, state[-1])])
    changes = int(np.count_nonzero(np.diff(state)))
    if changes < LEAST_STAYS:
        return None
    levels = [float(us[state == s].mean()) for s in (0, 1)]
    stays = [float((state == s).sum()) / ((changes + 1) / 2) for s in (0, 1)]
    return Regimes((1.0, levels[1] / levels[0]), (stays[0], stays[1]), state)


def _two_means(values: Floats) -> tuple[float, float, float]:
    """Centres and cut of the two clusters of least squares."""
    ordered = np.sort(values)
    n = ordered.size
    sums = np.cumsum(ordered)
    k = np.arange(1, n)
    between = sums[:-1] ** 2 / k + (sums[-1] - sums[:-1]) ** 2 / (n - k)
    at = int(np.argmax(between))
    low, high = float(sums[at] / (at + 1)), float((sums[-1] - sums[at]) / (n - at - 1))
    return low, high, float(ordered[at] + ordered[at + 1]) / 2.0


def _error(us: Floats, form: Form) -> float:
    """Mean absolute error of mean, p95 and p99 against the log's own order.

    Fitted to one half and asked for the other, both ways; over loads and arrivals. The law is the half's own:
    only the order is judged.
    """
    half = min(us.size // 2, LONGEST)
    first, second = us[:half], us[us.size - half :]
    errors = []
    for fitted, held in ((first, second), (second, first)):
        rho, regimes = form(fitted)
        for seed in range(ARRIVALS):
            draws = np.random.default_rng(seed)
            gaps = draws.exponential(float(held.mean()), half)
            made = _made(held, rho, regimes, draws)
            for load in LOADS[1:]:  # at low load nobody waits for the one before
                truth, told = latencies(gaps / load, held), latencies(gaps / load, made)
                errors.append(np.abs(np.log(summary(told) / summary(truth))))
    return float(np.mean(errors))


def _made(us: Floats, rho: float, regimes: Regimes | None, draws: np.random.Generator) -> Floats:
    """Times of the same law in an order of that form."""
    from scipy.signal import lfilter  # type: ignore[import-untyped]

    fresh = draws.standard_normal(us.size) * math.sqrt(1.0 - rho * rho)
    scores = lfilter([1.0], [1.0, -rho], fresh) if rho else fresh
    rank = np.empty(us.size, dtype=np.int64)
    rank[np.argsort(scores)] = np.arange(us.size)
    if regimes is None:
        return np.asarray(np.sort(us)[rank])
    own = find_regimes(us)  # the law within a regime, which is not what is judged
    base = np.sort(us if own is None else us / own.factor)
    made = base[rank] * _stays(regimes, us.size, draws)
    return np.asarray(made * (us.mean() / made.mean()))


def _stays(regimes: Regimes, n: int, draws: np.random.Generator) -> Floats:
    """Factors of n requests, in regimes of geometric length."""
    lengths: list[int] = []
    state = int(draws.random() < regimes.stays[1] / sum(regimes.stays))
    states = []
    while sum(lengths) < n:
        lengths.append(int(draws.geometric(1.0 / regimes.stays[state])))
        states.append(state)
        state = 1 - state
    return np.repeat(np.asarray(regimes.factors)[states], lengths)[:n]
