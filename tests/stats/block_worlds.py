"""Factorial studies whose factor has a different effect in each block, or whose slow minutes affect fast cells most.

``python tests/stats/block_worlds.py 500`` prints the table of `hindmost.stats.factors.effects`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache

import numpy as np

from hindmost.stats import Factorial, fit_runs, term_difference

DESIGN = Factorial(["a", "b", "c"])
LOW_US, HIGH_US = 165.0, 468.0
EFFECT = math.log(HIGH_US / LOW_US)
"""True effect of factor a; b and c do nothing."""
SD = 0.05
ADDED_US = 200.0
Runs = dict[tuple[int, ...], np.ndarray]


def _runs(random: np.random.Generator, blocks: int, cell: tuple[int, ...], level: np.ndarray) -> np.ndarray:
    return LOW_US * np.exp(EFFECT * cell[0] + level + SD * random.standard_normal(blocks))


def interacting(sd: float) -> Callable[[np.random.Generator, int], Runs]:
    """Factor a has a different effect in each block, and each block a different level."""

    def draw(random: np.random.Generator, blocks: int) -> Runs:
        level, own = random.normal(0.0, 0.05, blocks), random.normal(0.0, sd, blocks)
        return {cell: _runs(random, blocks, cell, level + own * cell[0]) for cell in DESIGN.cells}

    return draw


def slow(share: float, *, whole_blocks: bool) -> Callable[[np.random.Generator, int], Runs]:
    """A share of runs, or of blocks, is slower by the same microseconds in fast and slow cells."""

    def draw(random: np.random.Generator, blocks: int) -> Runs:
        together = random.random(blocks) < share
        level = random.normal(0.0, 0.03, blocks)
        return {
            cell: _runs(random, blocks, cell, level)
            + ADDED_US * (together if whole_blocks else random.random(blocks) < share)
            for cell in DESIGN.cells
        }

    return draw


WORLDS = {
    "nothing else": interacting(0.0),
    "effect by block, sd 5 %": interacting(0.05),
    "effect by block, sd 10 %": interacting(0.10),
    "effect by block, sd 20 %": interacting(0.20),
    "a tenth of runs slow": slow(0.1, whole_blocks=False),
    "a tenth of blocks slow": slow(0.1, whole_blocks=True),
}


@cache
def medians(world: str) -> tuple[float, float]:
    """Return the median over runs at both levels of factor a: slow runs shift it, too."""
    runs = WORLDS[world](np.random.default_rng(0), 100_000)
    low_us, high_us = (
        np.median(np.concatenate([runs[cell] for cell in DESIGN.cells if cell[0] == level]))
        for level in (0, 1)
    )
    return float(low_us), float(high_us)


def coverage(world: str, blocks: int, tries: int, seed: int, *, blocked: bool = True) -> tuple[float, ...]:
    """Coverage of the ratio of factor a, of its microseconds, and of the six average effects that are zero."""
    random = np.random.default_rng(seed)
    low_us, high_us = medians(world)
    labels = {cell: range(blocks) for cell in DESIGN.cells} if blocked else None
    ratio, us, nothing = 0, 0, 0.0
    for _ in range(tries):
        fit = fit_runs(WORLDS[world](random, blocks), DESIGN, blocks=labels, scale="log")
        effects = fit.effects("average")[1:]
        ratio += effects[0].low <= math.log(high_us / low_us) <= effects[0].high
        nothing += sum(effect.low <= 0.0 <= effect.high for effect in effects[1:]) / 6
        difference = term_difference(fit, fit.design.columns[1], "average")
        us += difference.low <= high_us - low_us <= difference.high
    return ratio / tries, us / tries, nothing / tries


if __name__ == "__main__":
    for world in WORLDS:
        blocked = coverage(world, 10, int(sys.argv[1]), 1)
        independent = coverage(world, 10, int(sys.argv[1]), 1, blocked=False)
        pairs = zip(blocked, independent, strict=True)
        print(f"{world:28}", *(f"{with_them:.3f} ({without:.2f})" for with_them, without in pairs))
