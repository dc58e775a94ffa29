"""Treadmill's Table IV (ISCA 2016) as a planted truth: memcached at high load, microseconds."""

import numpy as np

from hindmost.stats import Factorial

FACTORS = ("numa", "turbo", "dvfs", "nic")
DESIGN = Factorial(FACTORS)
LEVELS = (0.5, 0.95, 0.99)

# In the order of the design's columns; "<1" is read as 0.5.
TABLE_IV = {
    0.5: (65, 2, -2, 1, 0.5, 3, -3, 0.5, 0.5, 3, -1, 2, 0.5, 3, 0.5, -8),
    0.95: (155, 24, -12, 0.5, 2, 5, -29, -6, 14, 23, -15, 12, -7, 34, -9, -43),
    0.99: (355, 56, -29, -8, 29, 21, -57, -20, 40, 23, -58, 3, -14, 79, 4, -83),
}


def cells_of_table_iv(tau: float) -> dict[tuple[int, ...], float]:
    """The quantile of every cell."""
    return dict(zip(DESIGN.cells, DESIGN.matrix(DESIGN.cells) @ np.array(TABLE_IV[tau]), strict=True))


def requests(
    random: np.random.Generator, cell: tuple[int, ...], runs: int, each: int, sd: float
) -> np.ndarray:
    """Requests of a cell, shape (runs, each): the population has its three quantiles, times a run effect."""
    p50, p95, p99 = (np.log(cells_of_table_iv(tau)[cell]) for tau in LEVELS)
    z = random.standard_normal((runs, each))
    slope, tail = (p95 - p50) / 1.6448536, (p99 - p95) / (2.3263479 - 1.6448536)
    log = np.where(z < 1.6448536, p50 + slope * z, p95 + tail * (z - 1.6448536))
    return np.exp(log + random.normal(0.0, sd, (runs, 1)))
