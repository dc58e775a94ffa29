"""Cluster-robust errors of estimates that solve ``sum of scores = 0``.

The sandwich is ``D^-1 M D^-1``, with ``D = sum w f x x'`` and ``M`` the sum over clusters of squared scores.
With few clusters the plain sum is too small, because the fit absorbs part of the scores, mostly of clusters
with large weight. Each cluster's score is therefore divided by the share that the fit left of it (Bell and
McCaffrey 2002, *CR2*; for a cell of E runs that is exactly E/(E-1)). Degrees of freedom are Satterthwaite's
for clusters of equal variance: with ``C`` the covariance of the clusters' parts of a coefficient, ``tr(C)^2 /
tr(C^2)``. `hindmost.stats.wald` has those of several coefficients together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindmost.stats.tables import Floats
from hindmost.stats.wald import joint_degrees

_NOTHING_LEFT = 1e-8


@dataclass(frozen=True, slots=True)
class Sandwich:
    """Covariance of coefficients, shape (p, p), and the degrees of freedom of each.

    Both are NaN if densities do not separate coefficients, or one cluster alone determines one. ``root``:
    coefficients by coordinates in which the bread is the identity. ``adjust``, ``weight``: of each cluster in
    these coordinates, the correction of its score and its share of the bread.
    """

    covariance: Floats
    degrees: Floats
    root: Floats
    adjust: Floats
    weight: Floats

    def joint_degrees(self, at: Sequence[int]) -> float:
        """Return the degrees of freedom of the covariance of several coefficients together."""
        along = np.einsum("gij,qj->giq", self.adjust, self.root[list(at)])
        through = np.einsum("gij,gjq->giq", self.weight, along)
        return joint_degrees(np.einsum("giq,gir->gqr", along, through), through)


def cluster_sandwich(
    x: Floats, cluster: npt.NDArray[np.int64], density: Floats, score: Floats, back: Floats | None = None
) -> Sandwich:
    """Estimate the covariance of coefficients.

    Parameters
    ----------
    x : ndarray, shape (pieces, p)
        Covariates of each piece: samples of one cluster with the same covariates.
    cluster : ndarray, shape (pieces,)
        Index of the cluster, from 0 without gaps.
    density : ndarray, shape (pieces,)
        Samples of the piece (their weight) times the density of each at its fitted value.
    score : ndarray, shape (pieces,)
        Sum over the piece of ``w (tau - [y <= fit])``.
    back : ndarray, shape (p, p), optional
        Matrix that converts coefficients of `x` to the reported ones.
    """
    p, groups = x.shape[1], int(cluster.max()) + 1
    bread = (x.T * density) @ x
    sizes, vectors = np.linalg.eigh(bread)
    if not sizes[0] > _NOTHING_LEFT**2 * sizes[-1]:
        unknown = np.full((p, p), np.nan)
        return Sandwich(unknown, unknown[0], unknown, np.zeros((groups, p, p)), np.zeros((groups, p, p)))
    root = vectors / np.sqrt(sizes)
    # In coordinates in which the bread is the identity.
    z = x @ root
    root = root if back is None else back @ root
    scores = np.zeros((groups, p))
    np.add.at(scores, cluster, z * score[:, None])
    weight = np.zeros((groups, p, p))
    np.add.at(weight, cluster, z[:, :, None] * z[:, None, :] * density[:, None, None])
    shares, axes = np.linalg.eigh(weight)
    left = 1.0 - shares
    # A direction determined by one cluster alone carries no information about differences between clusters.
    stretch = np.where(left > _NOTHING_LEFT, 1.0 / np.sqrt(np.maximum(left, _NOTHING_LEFT)), 0.0)
    adjust = np.einsum("gik,gk,gjk->gij", axes, stretch, axes)
    parts = np.einsum("gij,gj->gi", adjust, scores)
    covariance = np.asarray(root @ (parts.T @ parts) @ root.T, dtype=np.float64)
    degrees = np.array([_degrees(adjust, weight, row) for row in root])
    loads = np.einsum("gik,ji->gkj", axes, root) ** 2 * (stretch == 0.0)[:, :, None]
    alone = loads.sum(axis=(0, 1)) > _NOTHING_LEFT * (root**2).sum(axis=1)
    covariance[alone], covariance[:, alone], degrees[alone] = np.nan, np.nan, np.nan
    return Sandwich(covariance, degrees, root, adjust, weight)


def _degrees(adjust: Floats, weight: Floats, row: Floats) -> float:
    """Return Satterthwaite's degrees of freedom of one coefficient, without building ``C``."""
    along = np.einsum("gij,j->gi", adjust, row)
    through = np.einsum("gij,gj->gi", weight, along)
    d = np.einsum("gi,gi->g", along, through)
    inner = through.T @ through
    trace = d.sum() - np.trace(inner)
    square = (d**2).sum() - 2.0 * (d * (through**2).sum(axis=1)).sum() + (inner**2).sum()
    return float(trace**2 / square) if square > 0.0 else float("nan")
