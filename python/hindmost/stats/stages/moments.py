"""Moments of the stages of requests, block by block, from the sums of the probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

STAGES = ("network_to_tcp", "tcp_to_read", "read_to_start", "start_to_response", "response_to_network")
"""Stages from the network (e1) to the network (e6), in order. The batch size is a variable after them."""
VARIABLES = len(STAGES) + 1
LATENCY = VARIABLES
"""Index of the latency, which is summed separately. The probes sum its variance, but no covariance."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums over the requests of each block, about one common point for numerical accuracy.

    Parameters
    ----------
    n : ndarray of shape (blocks,)
        Number of requests.
    first : ndarray of shape (blocks, 7)
        Sums of deviations from `about`: stages in ns, batch size, latency in ns.
    second : ndarray of shape (blocks, 6, 6)
        Sums of products of deviations.
    latency_second : ndarray of shape (blocks,)
        Sums of squared deviations of the latency.
    about : ndarray of shape (7,)
        Means over all blocks.
    """

    n: Reals
    first: Reals
    second: Reals
    latency_second: Reals
    about: Reals

    @property
    def requests(self) -> int:
        """Number of requests of all blocks."""
        return int(self.n.sum())

    def weighted(self, weights: Reals) -> tuple[Reals, Reals, Reals]:
        """Return means, covariances and the variance of the latency, with weighted blocks.

        Parameters
        ----------
        weights : ndarray of shape (draws, blocks)
            Weight of each block.

        Returns
        -------
        means : ndarray of shape (draws, 7)
        covariances : ndarray of shape (draws, 6, 6)
            Divided by the number of requests, because the probes see all of them.
        latency_variance : ndarray of shape (draws,)
        """
        n = weights @ self.n
        mean = (weights @ self.first) / n[:, None]
        products = np.tensordot(weights, self.second, axes=1) / n[:, None, None]
        part = mean[:, :VARIABLES]
        latency = (weights @ self.latency_second) / n - mean[:, LATENCY] ** 2
        return mean + self.about, products - part[:, :, None] * part[:, None, :], latency


def moments_of(blocks: Sequence[Mapping[str, Any]], kinds: Sequence[str] | None = None) -> Moments | None:
    """Build moments from the blocks of a trace. Return None without requests.

    Parameters
    ----------
    blocks : sequence of dict
        From the engine's ``Trace``.
    kinds : sequence of str, optional
        Only requests of these kinds.
    """
    parts = [[kind for kind in block["kinds"] if kinds is None or kind["kind"] in kinds] for block in blocks]
    parts = [block for block in parts if block]
    if not parts:
        return None
    upper = np.triu_indices(VARIABLES)

    def matrix(products: Sequence[float]) -> Reals:
        filled = np.zeros((VARIABLES, VARIABLES))
        filled[upper] = products
        return filled + np.triu(filled, 1).T

    flat = [(at, kind) for at, block in enumerate(parts) for kind in block]
    of_block = np.array([at for at, _ in flat])
    n = np.array([float(kind["n"]) for _, kind in flat])
    mean = np.array([[*kind["mean_ns"], kind["latency_ns"]] for _, kind in flat])
    about = n @ mean / n.sum()
    off = mean - about
    second = np.array([matrix(kind["products"]) for _, kind in flat])
    second += n[:, None, None] * off[:, :VARIABLES, None] * off[:, None, :VARIABLES]
    latency = np.array([kind["latency_square"] for _, kind in flat]) + n * off[:, LATENCY] ** 2

    def summed(values: Reals) -> Reals:
        total = np.zeros((len(parts), *values.shape[1:]))
        np.add.at(total, of_block, values)
        return total

    return Moments(summed(n), summed(n[:, None] * off), summed(second), summed(latency), about)
