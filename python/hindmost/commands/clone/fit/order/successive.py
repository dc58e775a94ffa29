"""The dependence of successive service times, which can cause the largest error of all (research note, 3.1).

There are two forms, as in clone documents: a first-order autoregression of normal scores, and regimes in
which all requests are slower or faster. A form is used if it improves the predicted latencies of the log in
its own order, in parts of the log to which it was not fitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.laws.families import round_digits
from hindmost.commands.clone.fit.laws.replay import LOADS, latencies, summary
from hindmost.commands.clone.fit.order.regimes import Regimes, draw_factors, find_regimes

LEAST_GAIN = 0.02
"""Smallest improvement of latencies for which a form is used; less may be chance."""

PARTS = 6
ARRIVALS = 4
LONGEST = 100_000
"""Most requests of a half that are replayed."""


def normal_scores(us: Floats) -> Floats:
    """Return normal quantiles of the ranks; equal times get neighbouring ranks."""
    rank = np.empty(us.size)
    rank[np.argsort(us, kind="stable")] = np.arange(us.size)
    return np.asarray(special.ndtri((rank + 0.5) / us.size))


def autocorrelation(scores: Floats, lag: int) -> float:
    """Return the autocorrelation of normal scores at a lag."""
    return float(scores[:-lag] @ scores[lag:]) / float(scores @ scores)


@dataclass(frozen=True)
class Order:
    """The form chosen for the order of service times.

    Parameters
    ----------
    found : float
        Lag-1 autocorrelation of the normal scores.
    interval : tuple of float
        95 % interval of `found`.
    autocorrelation : float
        The document's value: 0 if it does not help.
    regimes : Regimes or None
        The document's regimes.
    errors : dict
        Mean absolute latency error in the log's own order, by form.
    sorted_ : bool
        Whether the times are sorted, so that their order is lost.
    """

    found: float
    interval: tuple[float, float]
    autocorrelation: float
    regimes: Regimes | None
    errors: dict[str, float]
    sorted_: bool = False

    def document(self, autocorrelation: float | None = None) -> dict[str, Any]:
        """Return the order as in a clone document, optionally with another autocorrelation (`copula`)."""
        told = self.autocorrelation if autocorrelation is None else autocorrelation
        said: dict[str, Any] = {"autocorrelation": round_digits(told)}
        if self.regimes:
            said["regimes"] = [
                {"factor": round_digits(factor), "mean_requests": round_digits(stay)}
                for factor, stay in zip(self.regimes.factors, self.regimes.stays, strict=True)
            ]
        return said


def find_order(us: Floats) -> Order:
    """Compare both forms with the log's own order."""
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
    """Return the standard error of the lag-1 autocorrelation from its scatter over parts of the log."""
    parts = max(PARTS, min(30, scores.size // 400))
    found = [float((part[:-1] * part[1:]).mean()) for part in np.array_split(scores, parts)]
    return max(float(np.std(found, ddof=1)) / math.sqrt(parts), 1.0 / math.sqrt(scores.size))


def _error(us: Floats, form: Form) -> float:
    """Return the mean absolute error of mean, p95 and p99 against the log's own order.

    The form is fitted to one half and applied to the other, both ways, over loads and arrivals. The law is
    that of the half itself, so only the order is compared.
    """
    half = min(us.size // 2, LONGEST)
    first, second = us[:half], us[us.size - half :]
    errors = []
    for fitted, held in ((first, second), (second, first)):
        rho, regimes = form(fitted)
        for seed in range(ARRIVALS):
            draws = np.random.default_rng(seed)
            gaps = draws.exponential(float(held.mean()), half)
            made = _simulate(held, rho, regimes, draws)
            for load in LOADS[1:]:  # at low load no request waits for the previous one
                truth, told = latencies(gaps / load, held), latencies(gaps / load, made)
                errors.append(np.abs(np.log(summary(told) / summary(truth))))
    return float(np.mean(errors))


def _simulate(us: Floats, rho: float, regimes: Regimes | None, draws: np.random.Generator) -> Floats:
    """Return the times in an order simulated by the form."""
    from scipy.signal import lfilter  # type: ignore[import-untyped]

    fresh = draws.standard_normal(us.size) * math.sqrt(1.0 - rho * rho)
    scores = lfilter([1.0], [1.0, -rho], fresh) if rho else fresh
    rank = np.empty(us.size, dtype=np.int64)
    rank[np.argsort(scores)] = np.arange(us.size)
    if regimes is None:
        return np.asarray(np.sort(us)[rank])
    own = find_regimes(us)  # the law within a regime, which is not compared
    base = np.sort(us if own is None else us / own.factor)
    made = base[rank] * draw_factors(regimes, us.size, draws)
    return np.asarray(made * (us.mean() / made.mean()))
