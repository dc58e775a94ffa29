"""Distributions of run values on which intervals and stopping rules are tested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RunLaw:
    """Distribution of a run's true quantile, around a mean near 1."""

    name: str
    mean: float
    sd: float
    draw: Callable[[np.random.Generator, tuple[int, int]], Floats]


def _lognormal(sd: float) -> RunLaw:
    sigma = float(np.sqrt(np.log1p(sd * sd)))

    def draw(g: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return g.lognormal(-(sigma**2) / 2, sigma, shape)

    return RunLaw(f"lognormal {sd:.0%}", 1.0, sd, draw)


def _bimodal(noise: float) -> RunLaw:
    def draw(g: np.random.Generator, shape: tuple[int, int]) -> Floats:
        state = 1.0 + 0.2 * (g.random(shape) < 0.3)
        return state * g.lognormal(-(noise**2) / 2, noise, shape)

    sd = float(np.sqrt(0.21 * 0.04 + noise**2 * (1.0 + 0.3 * 0.44)))
    return RunLaw(f"bimodal {noise:.0%}", 1.06, sd, draw)


SIX = (
    _lognormal(0.02),
    _lognormal(0.05),
    _lognormal(0.10),
    RunLaw("t3", 1.0, 0.035 * 3**0.5, lambda g, shape: 1.0 + 0.035 * g.standard_t(3, shape)),
    _bimodal(0.02),
    _bimodal(0.05),
)
SKEWED = RunLaw("shifted exponential", 1.0, 0.1, lambda g, shape: 0.9 + 0.1 * g.exponential(1.0, shape))
"""A harder case than the six: skewness 2."""

ALL_LAWS = {law.name: law for law in (*SIX, SKEWED)}


@pytest.fixture(params=[law.name for law in SIX])
def run_law(request: pytest.FixtureRequest) -> RunLaw:
    """Each of the six laws of run values."""
    return ALL_LAWS[request.param]


@pytest.fixture
def laws() -> dict[str, RunLaw]:
    """All laws by name, including the skewed one."""
    return ALL_LAWS
