"""Pareto tails above a body of lognormals, and the comparison of a law's tail with that of the samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.commands.clone.fit.bins import BinnedSamples, Floats, Ints
from hindmost.commands.clone.fit.laws.families import Mixture, Model, Pareto
from hindmost.commands.clone.fit.laws.mixture import LEAST_COUNT, improve
from hindmost.core.notes import Note

BEGINS = (0.95, 0.98, 0.99, 0.995)
"""Sample shares at which a Pareto tail is tried."""

LEVELS = tuple(1.0 - left for left in (0.1, 0.03, 0.01, 3e-3, 1e-3, 5e-4, 2e-4, 1e-4, 3e-5, 1e-5))
"""Sample shares above which tails are compared."""

LEAST_FOUND = 5.0
"""Fewest samples above a level at which tails are compared."""

FAR = 1.5
"""Differences of tail shares below this factor do not justify a parameter."""

SURE = 1e-6
"""Largest p-value of a misfit. A fit compares about a hundred thresholds, so one fit in ten thousand wrongly
excludes a law."""


def add_pareto_tails(binned: BinnedSamples, body: Mixture) -> list[Mixture]:
    """Fit the body with a Pareto tail that begins at each share of `BEGINS`."""
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
        one = improve(binned, Mixture(weights, (*body.laws, tail)))
        if len(one.laws) == len(body.laws) + 1:
            found.append(one)
    return found


@dataclass(frozen=True)
class Misfit:
    """A threshold beyond which the law has far more or far fewer requests than the samples."""

    us: float
    found: int
    expected: float

    def note(self) -> Note:
        """Describe the misfit as a note."""
        return Note(
            "tail-misfit",
            f"beyond {self.us:.4g} µs the law has {self.expected:.3g} requests, the samples {self.found}",
            {"us": self.us, "found": self.found, "expected": self.expected},
        )


def misfit(model: Model, ordered: Floats, block: Ints) -> Misfit | None:
    """Find the worst significant deviation by `FAR` of a law's tail from sorted times; None if there is none.

    Thresholds lie at quantiles of the samples and of the law, so that a component of the law without samples
    is found too. `block` has the time block of each sample (see `choice`): bursts of slow requests count as
    correspondingly fewer.
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
    """Return the variance of counts per block over that of independent requests; at least 1."""
    if block.size < LEAST_FOUND:
        return 1.0
    counts = np.bincount(block, minlength=int(block.max()) + 1)
    return max(1.0, float(counts.var(ddof=1) / counts.mean())) if counts.size > 1 else 1.0


def _chance(found: float, expected: float) -> float:
    """Return the Poisson probability of a count this extreme (between whole numbers: by the gamma law)."""
    if expected <= 1e-300:
        return 0.0 if found else 1.0
    if found > expected:
        return float(special.gammainc(found, expected))
    return float(special.gammaincc(found + 1.0, expected))
