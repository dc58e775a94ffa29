"""Autoregressive series, without `scipy.signal`, which takes half a second to load."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import numpy.typing as npt


def autoregressive(noise: npt.NDArray[np.float64], rho: float) -> npt.NDArray[np.float64]:
    """Each value is `rho` times the previous one plus noise."""
    return np.fromiter(
        accumulate(noise.tolist(), lambda previous, innovation: rho * previous + innovation),
        float,
        noise.size,
    )
