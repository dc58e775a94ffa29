"""Whether a linear quantile regression has the right form: He and Zhu's test, and shares of samples below it.

If the model is right, a share tau of the samples lies below it, whatever their covariates. He and Zhu (2003)
add up the scores ``x (tau - [y <= fit])`` of all samples whose covariates are at most t, for each t. Their
statistic is the largest eigenvalue of the mean square of these sums: large if samples of some region lie
below the fit too often or too rarely. Its distribution under the null comes from random signs of whole
clusters, so samples of one cluster may depend on each other. What the estimated coefficients absorb is
subtracted from each cluster's part: ``D(t) D^-1`` times its score, with the densities of the sandwich.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindmost.stats.tables import Floats, t_quantile

_POINTS = 100
"""Most points t at which the sums are taken."""
_BINS = 10
_AT_ONCE = 2_000_000
"""Maximum of numbers drawn at once."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Samples added up by cluster and cell, sorted by cluster.

    Attributes
    ----------
    cluster, cell : ndarray, shape (pieces,)
        Indices, from 0 without gaps.
    mass, score : ndarray, shape (pieces,)
        Number of samples, and sum of their ``tau - [y <= fit]``.
    x : ndarray, shape (cells, p)
        Columns of the model, the constant included.
    density : ndarray, shape (cells,)
        Density of one sample at the fit.
    """

    cluster: npt.NDArray[np.int64]
    cell: npt.NDArray[np.int64]
    mass: Floats
    score: Floats
    x: Floats
    density: Floats

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster[-1]) + 1

    @property
    def stretch(self) -> float:
        """What makes up for the variance of the scores that the fit absorbs; with few clusters too much."""
        return self.clusters / (self.clusters - int(self.x.shape[1]))

    @property
    def cell_mass(self) -> Floats:
        """Number of samples of each cell."""
        return np.bincount(self.cell, self.mass, len(self.x)).astype(np.float64)

    def sum_clusters(self, values: Floats) -> Floats:
        """Add up values of pieces by cluster."""
        starts = np.searchsorted(self.cluster, np.arange(self.clusters))
        return np.asarray(np.add.reduceat(values, starts), dtype=np.float64)

    def orthonormal(self) -> Floats:
        """Return `x` in coordinates in which the sum of squares of all samples is the identity."""
        sizes, vectors = np.linalg.eigh((self.x.T * self.cell_mass) @ self.x)
        return np.asarray(self.x @ (vectors / np.sqrt(sizes)), dtype=np.float64)

    def influence(self, z: Floats) -> Floats | None:
        """Return what each cluster adds to the coefficients; None if densities do not separate them."""
        bread = (z.T * (self.cell_mass * self.density)) @ z
        if np.linalg.matrix_rank(bread) < len(bread):
            return None
        return self.sum_clusters(z[self.cell] * self.score[:, None]) @ np.linalg.inv(bread)


@dataclass(frozen=True, slots=True)
class ShareBelow:
    """Share of the samples at or below the fit, among those with similar values of a column.

    ``by``: the column, or ``(fitted)``. ``low``, ``high``: range of its values.
    ``share_low``, ``share_high``: 95 % interval of the share. Where the model is right, it contains the
    quantile's level.
    """

    by: str
    low: float
    high: float
    samples: int
    share: float
    share_low: float
    share_high: float


def cusum_test(pieces: Pieces, draws: int, seed: int) -> tuple[float, float]:
    """Return He and Zhu's statistic and its p-value; NaN if densities do not separate coefficients.

    A model with a coefficient for every cell cannot misfit: its p is 1.
    """
    z = pieces.orthonormal()
    influence = pieces.influence(z)
    if influence is None:
        return math.nan, math.nan
    if len(z) <= z.shape[1]:
        return 0.0, 1.0
    random = np.random.default_rng(seed)
    mass, points = pieces.cell_mass, np.arange(len(z))
    if len(z) > _POINTS:
        points = random.choice(len(z), _POINTS, replace=False, p=mass / mass.sum())
    weight = mass[points] / mass[points].sum()
    parts = _parts(pieces, z, influence, points)
    seen = _largest(parts.sum(axis=0)[None], weight)[0]
    as_large = 0
    step = max(1, _AT_ONCE // parts[0].size)
    flat = parts.reshape(len(parts), -1) * math.sqrt(pieces.stretch)
    for start in range(0, draws, step):
        signs = random.choice([-1.0, 1.0], (min(step, draws - start), len(parts)))
        drawn = _largest((signs @ flat).reshape(-1, *parts.shape[1:]), weight)
        as_large += int(np.count_nonzero(drawn >= seen * (1.0 - 1e-9)))
    return float(seen), (1 + as_large) / (1 + draws)


def _parts(pieces: Pieces, z: Floats, influence: Floats, points: npt.NDArray[np.int64]) -> Floats:
    """Return each cluster's part of the sums at each point, shape (clusters, points, p)."""
    scores = z[pieces.cell] * pieces.score[:, None]
    held = pieces.cell_mass * pieces.density
    out = np.empty((pieces.clusters, len(points), z.shape[1]))
    for place, point in enumerate(points):
        within = (pieces.x <= pieces.x[point]).all(axis=1)
        absorbed = influence @ ((z.T * (held * within)) @ z)
        out[:, place] = pieces.sum_clusters(scores * within[pieces.cell][:, None]) - absorbed
    return out


def _largest(sums: Floats, weight: Floats) -> Floats:
    """Return the largest eigenvalue of the mean square of each process, shape (processes, points, p)."""
    squares = np.einsum("dti,t,dtj->dij", sums, weight, sums)
    return np.asarray(np.linalg.eigvalsh(squares)[:, -1], dtype=np.float64)


def shares_below(pieces: Pieces, by: str, values: Floats, tau: float, degrees: float) -> Iterator[ShareBelow]:
    """Yield the shares of samples below the fit, in at most ten groups of cells with similar values.

    ``degrees``: of freedom of the intervals.
    """
    z, cell_mass = pieces.orthonormal(), pieces.cell_mass
    influence = pieces.influence(z)
    if influence is None:
        return
    group = _group_values(values, cell_mass)
    for place in range(int(group.max()) + 1):
        within = group == place
        mass = float(cell_mass[within].sum())
        score = pieces.score * within[pieces.cell]
        parts = pieces.sum_clusters(score) - influence @ ((cell_mass * pieces.density * within) @ z)
        half = t_quantile(degrees, 0.975) * math.sqrt(pieces.stretch * float((parts**2).sum())) / mass
        share = tau - float(score.sum()) / mass
        ends = max(0.0, share - half), min(1.0, share + half)
        yield ShareBelow(
            by, float(values[within].min()), float(values[within].max()), round(mass), share, *ends
        )


def _group_values(values: Floats, mass: Floats) -> npt.NDArray[np.int64]:
    """Return the group of each cell: about equally many samples a group, and equal values together."""
    levels, place = np.unique(values, return_inverse=True)
    place = place.ravel()
    sizes = np.bincount(place, mass)
    groups = np.arange(len(levels))
    if len(levels) > _BINS:
        middle = (np.cumsum(sizes) - sizes / 2.0) / sizes.sum()
        groups = np.unique((middle * _BINS).astype(np.int64), return_inverse=True)[1]
    return np.asarray(groups[place], dtype=np.int64)
