"""The families of service time laws: density, distribution, quantiles and document."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.commands.clone.fit.bins import Floats

DIGITS = 6
"""Digits in the document: a relative error of 1e-6 is far below any interval."""

_GRID = 8_192
_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def round_digits(value: float) -> float:
    """Round a value to the digits of a document."""
    return float(f"{value:.{DIGITS}g}")


class Law(Protocol):
    """A distribution of times in microseconds; densities are over the logarithm of the time."""

    @property
    def parameters(self) -> int:
        """Number of fitted parameters."""

    @property
    def mean(self) -> float:
        """Mean, us."""

    @property
    def reach(self) -> tuple[float, float]:
        """Logarithms between which all but a share of 1e-12 of the times lie."""

    def log_density(self, x: Floats) -> Floats:
        """Logarithm of the density at logarithms `x`."""

    def distribution(self, x: Floats) -> Floats:
        """Share at or below `x`."""

    def scale(self, factor: float) -> Law:
        """All times multiplied."""

    def document(self) -> dict[str, Any]:
        """Its text in a clone document."""


@dataclass(frozen=True)
class Lognormal:
    """Law of a time whose logarithm is normal with mean `mu` and standard deviation `sigma`."""

    mu: float
    sigma: float
    parameters = 2

    @property
    def mean(self) -> float:
        """Mean, us."""
        return math.exp(self.mu + 0.5 * self.sigma**2)

    @property
    def reach(self) -> tuple[float, float]:
        """Logarithms between which nearly all lies."""
        return self.mu - 7.1 * self.sigma, self.mu + 7.1 * self.sigma

    def log_density(self, x: Floats) -> Floats:
        """Logarithm of the density of the logarithm."""
        z = (x - self.mu) / self.sigma
        return np.asarray(-0.5 * z * z - (math.log(self.sigma) + _LOG_ROOT_TWO_PI))

    def distribution(self, x: Floats) -> Floats:
        """Share at or below logarithms `x`."""
        return np.asarray(special.ndtr((x - self.mu) / self.sigma))

    def scale(self, factor: float) -> Lognormal:
        """All times multiplied."""
        return replace(self, mu=self.mu + math.log(factor))

    def document(self) -> dict[str, Any]:
        """Its text in a clone document."""
        median = round_digits(math.exp(self.mu))
        return {"kind": "lognormal", "median_us": median, "sigma_log": round_digits(self.sigma)}


@dataclass(frozen=True)
class Gamma:
    """Gamma law; with one parameter and `shape` 1 it is the exponential law."""

    mean: float
    shape: float
    parameters: int = 2

    @property
    def reach(self) -> tuple[float, float]:
        """Logarithms between which nearly all lies."""
        low = max(float(special.gammaincinv(self.shape, 1e-12)), 1e-300)
        high = float(special.gammainccinv(self.shape, 1e-12))
        return math.log(low * self.mean / self.shape), math.log(high * self.mean / self.shape)

    def log_density(self, x: Floats) -> Floats:
        """Logarithm of the density of the logarithm."""
        scale = self.mean / self.shape
        y = x - math.log(scale)
        return np.asarray(self.shape * y - np.exp(y) - special.gammaln(self.shape))

    def distribution(self, x: Floats) -> Floats:
        """Share at or below logarithms `x`."""
        return np.asarray(special.gammainc(self.shape, np.exp(x) * self.shape / self.mean))

    def scale(self, factor: float) -> Gamma:
        """All times multiplied."""
        return replace(self, mean=self.mean * factor)

    def document(self) -> dict[str, Any]:
        """Its text in a clone document."""
        if self.parameters == 1:
            return {"kind": "exponential", "mean_us": round_digits(self.mean)}
        return {"kind": "gamma", "mean_us": round_digits(self.mean), "shape": round_digits(self.shape)}


@dataclass(frozen=True)
class Pareto:
    """Heavy tail above logarithm `low`, truncated so that all mass above `high` lies at `high`."""

    low: float
    shape: float
    high: float
    parameters = 2

    @property
    def mean(self) -> float:
        """Mean, us."""
        a, cut = self.shape, math.exp((1.0 - self.shape) * (self.high - self.low))
        return math.exp(self.low) * (a - cut) / (a - 1.0)

    @property
    def reach(self) -> tuple[float, float]:
        """Logarithms between which nearly all lies."""
        return self.low, self.high

    def log_density(self, x: Floats) -> Floats:
        """Logarithm of the density of the logarithm."""
        inside = math.log(self.shape) - self.shape * (x - self.low)
        return np.where(x >= self.low - 1e-9, inside, -np.inf)

    def distribution(self, x: Floats) -> Floats:
        """Share at or below logarithms `x`."""
        below = -np.expm1(-self.shape * np.maximum(x - self.low, 0.0))
        return np.where(x >= self.high, 1.0, below)

    def scale(self, factor: float) -> Pareto:
        """All times multiplied."""
        shift = math.log(factor)
        return replace(self, low=self.low + shift, high=self.high + shift)

    def document(self) -> dict[str, Any]:
        """Its text in a clone document."""
        least, most = round_digits(math.exp(self.low)), round_digits(math.exp(self.high))
        return {"kind": "pareto", "least_us": least, "shape": round_digits(self.shape), "at_most_us": most}


@dataclass(frozen=True)
class Mixture:
    """A mixture of laws with weights that sum to 1."""

    weights: tuple[float, ...]
    laws: tuple[Law, ...]

    @property
    def parameters(self) -> int:
        """Number of fitted parameters: those of the laws, and all weights but one."""
        return sum(law.parameters for law in self.laws) + len(self.laws) - 1

    @property
    def mean(self) -> float:
        """Mean, us."""
        return sum(w * law.mean for w, law in zip(self.weights, self.laws, strict=True))

    def parts(self, x: Floats) -> Floats:
        """Return the logarithm of weight times density, of shape ``(components, len(x))``."""
        return np.array(
            [math.log(w) + law.log_density(x) for w, law in zip(self.weights, self.laws, strict=True)]
        )

    def log_density(self, x: Floats) -> Floats:
        """Logarithm of the density at logarithms `x`."""
        parts = self.parts(x)
        top = parts.max(axis=0)
        top = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(top + np.log(np.exp(parts - top).sum(axis=0)))

    def distribution(self, x: Floats) -> Floats:
        """Share at or below logarithms `x`."""
        parts = [w * law.distribution(x) for w, law in zip(self.weights, self.laws, strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    @cached_property
    def _inverse(self) -> tuple[Floats, Floats]:
        low = min(law.reach[0] for law in self.laws)
        high = max(law.reach[1] for law in self.laws)
        # Narrow components among wide ones get additional points.
        own = [np.linspace(*law.reach, 512) for law in self.laws]
        x = np.unique(np.concatenate([np.linspace(low, high, _GRID), *own]))
        return np.maximum.accumulate(self.distribution(x)), x

    def quantile(self, u: Floats) -> Floats:
        """Times, us, below which shares `u` lie."""
        return np.asarray(np.exp(np.interp(u, *self._inverse)))

    def scale(self, factor: float) -> Mixture:
        """All times multiplied."""
        return Mixture(self.weights, tuple(law.scale(factor) for law in self.laws))

    def document(self) -> list[dict[str, Any]]:
        """Return the components for a clone document, with rounded weights that sum to 1."""
        weights = [round_digits(w) for w in self.weights]
        most = int(np.argmax(weights))
        weights[most] = 1.0 - sum(w for place, w in enumerate(weights) if place != most)
        return [{"weight": w, "law": law.document()} for w, law in zip(weights, self.laws, strict=True)]


@dataclass(frozen=True)
class Empirical:
    """The measured quantile function: straight lines between points."""

    p: Floats
    us: Floats

    @property
    def parameters(self) -> int:
        """Number of points."""
        return int(self.p.size)

    @property
    def mean(self) -> float:
        """Mean, us: the integral of the quantile function."""
        return float(np.diff(self.p) @ (self.us[1:] + self.us[:-1]) / 2.0)

    def quantile(self, u: Floats) -> Floats:
        """Times, us, below which shares `u` lie."""
        return np.asarray(np.interp(u, self.p, self.us))

    def distribution(self, x: Floats) -> Floats:
        """Share at or below logarithms `x`."""
        return np.asarray(np.interp(np.exp(x), self.us, self.p))

    def scale(self, factor: float) -> Empirical:
        """All times multiplied."""
        return Empirical(self.p, self.us * factor)

    def document(self) -> list[dict[str, Any]]:
        """Return the only component for a clone document."""
        times = np.maximum.accumulate([round_digits(float(us)) for us in self.us])
        points = [[float(f"{p:.9g}"), float(us)] for p, us in zip(self.p, times, strict=True)]
        return [{"weight": 1.0, "law": {"kind": "empirical", "points": points}}]

    @classmethod
    def from_sorted(cls, ordered: Floats, body: int = 400, per_decade: int = 40) -> Empirical:
        """Choose points from sorted samples: evenly in the body, logarithmically in the tail.

        The twenty largest samples are always included.
        """
        n = ordered.size
        decades = max(0.0, math.log10(n / 20))
        steps = max(0, round(per_decade * (decades - 1)))
        tail = 1.0 - np.logspace(-1, -decades, steps) if steps else np.zeros(0)
        last = 1.0 - (np.arange(20, 0, -1) - 0.5) / n if n > 20 else np.zeros(0)
        levels = np.unique(np.clip(np.concatenate([np.linspace(0, 1, body + 1), tail, last]), 0.0, 1.0))
        ranks = np.clip(levels * n - 0.5, 0, n - 1)
        return cls(levels, np.interp(ranks, np.arange(n), ordered))


Model = Mixture | Empirical


def mean_matched(model: Model, mean_us: float) -> Model:
    """Scale the model to that mean: a 3 % error would dominate the latency error at high load."""
    return model.scale(mean_us / model.mean)
