"""Whether late sending matters to a figure: the only use of the limit `limits.LATENESS`."""

from __future__ import annotations

import math

from hindmost.core.run import limits


def matters(late_us: float, of_us: float) -> bool:
    """Whether a delay is a large share of a figure, and larger than a quiet host's noise.

    Parameters
    ----------
    late_us : float
        The send delay, or another part of the figure that is not the server's.
    of_us : float
        The figure. If it is infinite, no delay matters.

    Examples
    --------
    >>> matters(11.0, 100.0), matters(9.0, 100.0), matters(4.0, 10.0), matters(1e6, float("inf"))
    (True, False, False, False)
    """
    share = late_us / of_us if of_us > 0.0 else math.inf
    return late_us > limits.LATENESS_FLOOR_US and share > limits.LATENESS
