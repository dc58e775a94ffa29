"""Tails: a Pareto law above a body of lognormals, and whether a law has the tail of the samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.models.fit.bins import Binned, Floats, Ints
from hindmost.models.fit.laws.families import Mixture, Model, Pareto
from hindmost.models.fit.laws.mixture import LEAST_COUNT, improved
from hindmost.notes import Note

BEGINS = (0.95, 0.98, 0.99, 0.995)
"""Shares of all samples at which a Pareto tail is tried."""

LEVELS = tuple(1.0 - left for left in (0.1, 0.03, 0.01, 3e-3, 1e-3, 5e-4, 2e-4, 1e-4, 3e-5, 1e-5))
"""Shares of all samples above which tails are compared."""

LEAST_FOUND = 5.0
"""Samples above a level, below which nothing is said of it."""

FAR = 1.5
"""Shares beyond a threshold that differ by less than this factor are not worth a parameter..."""

SURE = 1e-6
"""...and those that chance explains with more than this probability are not worth a word: some hundred
thresholds are looked at in each fit, so that a fit in ten thousand refuses a law wrongly."""


def with_pareto_tails(binned: Binned, body: Mixture) -> list[Mixture]:
    """The body with a Pareto tail from each of `BEGINS` on."""
    found = []
    for begin in BEGINS:
        n, mean, _ = binned.segment(begin, 2.0)
        if n < 4 * LEAST_COUNT:
            continue
        low = float(binned.x[np.searchsorted(binned.share, begin)])
        high = float(binned.x[-1])
        if mean - low < 1e-3 or high - low < 1e-2:
            continue
        weight = n / binned.n
        tail = Pareto(low, max(1.05, 1.0 / (mean - low)), high)
        weights = (*(w * (1.0 - weight) for w in body.weights), weight)
        one = improved(binned, Mixture(weights, (*body.laws, tail)))
        if len(one.laws) == len(body.laws) + 1:
            found.append(one)
    return found


@dataclass(frozen=True)
class Misfit:
    """A threshold beyond which the law has far more, or far fewer, requests than there are."""

    us: float
    found: int
    expected: float

    def note(self) -> Note:
        """In words and values."""
        return Note(
            "tail-misfit",
            f"beyond {self.us:.4g} µs the law has {self.expected:.3g} requests, the samples {self.found}",
            {"us": self.us, "found": self.found, "expected": self.expected},
        )


def misfit(model: Model, ordered: Floats, block: Ints) -> Misfit | None:
    """The worst threshold of a tail against sorted times; None where none is off by `FAR` and beyond chance.

    Thresholds lie at levels of the samples and of the law: a component that the law has and the samples have
    not shows at the law's own. `block` tells when each time was (see `choice`): slow requests in bursts count
    as so many fewer.
    """
    n = ordered.size
    few = 1.0 - (LEAST_FOUND + 0.5) / n
    levels = np.array([*(level for level in LEVELS if level < few), max(few, 0.5)])
    worst: tuple[float, Misfit] | None = None
    for us in np.concatenate([np.quantile(ordered, levels), model.quantile(levels)]):
        first = int(np.searchsorted(ordered, us, side="right"))
        found = n - first
        expected = n * (1.0 - float(model.distribution(np.array([math.log(us)]))[0]))
        bursts = _dispersion(block[first:])
        chance = _chance(found / bursts, expected / bursts)
        ratio = max(found + 1.0, expected + 1.0) / min(found + 1.0, expected + 1.0)
        if chance < SURE and ratio > FAR and (worst is None or chance < worst[0]):
            worst = (chance, Misfit(float(us), found, expected))
    return worst[1] if worst else None


def _dispersion(block: Ints) -> float:
    """Variance of the counts by blocks over that of independent requests; at least 1."""
    if block.size < LEAST_FOUND:
        return 1.0
    counts = np.bincount(block, minlength=int(block.max()) + 1)
    return max(1.0, float(counts.var(ddof=1) / counts.mean())) if counts.size > 1 else 1.0


def _chance(found: float, expected: float) -> float:
    """Probability of so many, or of so few, under a Poisson law (between whole numbers: by the gamma law)."""
    if expected <= 1e-300:
        return 0.0 if found else 1.0
    if found > expected:
        return float(special.gammainc(found, expected))
    return float(special.gammaincc(found + 1.0, expected))
