"""Test whether one client dominates the slowest requests: the paper's Figure 2, with a rule for the warning.

Let ``f`` be a client's fair share (its share of all requests) and ``s`` its share of the requests above the
threshold. The client *owns* them if both hold:

1. **It matters**: ``(1 - s) / (1 - f) <= 2/3``. With the other clients alone, requests above the threshold
   would be a third rarer: their "slowest 1 %" would be a slowest 0.67 %, so the merged percentile mostly
   describes one client. Among 2 equal clients that is s >= 67 %, among 4 s >= 50 %, among 8 s >= 42 %; with
   many clients s >= 33 % for any f.
2. **It is significant**: ``s > f`` in a one-sided test at 0.001 over all clients together (Bonferroni).

Slow requests come in bursts (one stall delays all requests scheduled in it). Counts are therefore
over-dispersed, and a plain binomial or chi-square test finds an owner where there is none. With counts of
three or more runs, the dispersion is measured between runs (Pearson's chi-square per degree of freedom) and
the test is a t test on it. A state that moves from client to client between runs then has no owner. With
fewer runs it cannot be measured, so `ASSUMED_DISPERSION` is used, bursts of 25, and the text says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindmost.errors import ArgumentError
from hindmost.stats.tables import Floats, upper_tail

ASSUMED_DISPERSION = 25.0
"""Variance of a count over that of independent requests, if runs are too few to measure it. A burst of b
requests gives b: a 0.5 ms stall at 50,000 requests per second gives 25. It is an assumption, not a
measurement.
"""

FALSE_ALARM = 0.001
RARER_WITHOUT = 2.0 / 3.0
_RUNS_TO_MEASURE = 3


@dataclass(frozen=True, slots=True)
class Ownership:
    """Each client's share of the slowest requests.

    ``shares`` and ``fair`` have one entry per client and sum to 1 (``shares`` is empty if no request lies
    above the threshold); ``owner`` is a client index or None; ``p_value`` belongs to the client with the
    largest excess, corrected for testing all clients; ``dispersion`` is 1 for independent requests.
    """

    shares: tuple[float, ...]
    fair: tuple[float, ...]
    owner: int | None
    p_value: float | None
    dispersion: float
    text: str


def find_owner(counts_above: npt.ArrayLike, counts_total: npt.ArrayLike) -> Ownership:
    """Return the clients' shares of the requests above a threshold, and the dominating client, if any.

    Parameters
    ----------
    counts_above
        Requests above the threshold, shape ``(clients,)`` or, better, ``(runs, clients)``. Unanswered
        requests count as above. The threshold is usually the merged 99th percentile.
    counts_total
        All requests, same shape.

    Raises
    ------
    ValueError
        If shapes differ, a count is negative, or a count above exceeds its total.

    Examples
    --------
    >>> find_owner([900, 40, 30, 30], [25_000] * 4).owner
    0
    >>> find_owner([280, 240, 250, 230], [25_000] * 4).owner is None
    True
    """
    above, total = _check_counts(counts_above, counts_total)
    clients = above.shape[1]
    fair = total.sum(axis=0) / total.sum()
    slow = above.sum()
    if slow == 0.0:
        return Ownership((), _floats(fair), None, None, 1.0, "no request lies above the threshold")
    shares = above.sum(axis=0) / slow
    if clients == 1:
        return Ownership((1.0,), (1.0,), None, None, 1.0, "only one client, so there is no comparison")

    dispersion, df = _dispersion(above, shares)
    p = _p_values(shares, fair, float(slow), dispersion, df)
    first = int(np.argmax((shares - fair) / (1.0 - fair)))
    p_value = min(1.0, float(p[first]) * clients)
    matters = (1.0 - shares[first]) <= RARER_WITHOUT * (1.0 - fair[first])
    owner = first if matters and p_value < FALSE_ALARM else None
    text = (
        f"client {first} sends {fair[first]:.0%} of the requests and {shares[first]:.0%} of the slowest"
        f" (p = {p_value:.2g}, dispersion {dispersion:.3g}{' measured' if df else ' assumed'}): "
    )
    if owner is not None:
        text += "it dominates the tail of the merged distribution"
    elif matters:
        text += "a large share, but not significant with these counts"
    else:
        text += "no client dominates the tail"
    return Ownership(_floats(shares), _floats(fair), owner, p_value, dispersion, text)


def _check_counts(above: npt.ArrayLike, total: npt.ArrayLike) -> tuple[Floats, Floats]:
    a = np.atleast_2d(np.asarray(above, dtype=np.float64))
    t = np.atleast_2d(np.asarray(total, dtype=np.float64))
    if a.shape != t.shape or a.ndim != 2 or a.size == 0:
        raise ArgumentError(
            "bad-argument",
            f"counts above {a.shape} and in total {t.shape} must have one shape (runs, clients)",
            argument="counts_total",
        )
    if not (a >= 0.0).all() or not (t >= a).all() or not (t.sum(axis=0) > 0.0).all():
        raise ArgumentError(
            "bad-argument",
            "counts must satisfy 0 <= above <= total, with requests at every client",
            argument="counts_above",
        )
    return a, t


def _dispersion(above: Floats, shares: Floats) -> tuple[float, int]:
    """Return Pearson's chi-square per degree of freedom of runs by clients, and the degrees (0: assumed)."""
    live = above[above.sum(axis=1) > 0.0][:, shares > 0.0]
    df = (live.shape[0] - 1) * (live.shape[1] - 1)
    if live.shape[0] < _RUNS_TO_MEASURE or df == 0:
        return ASSUMED_DISPERSION, 0
    expected = live.sum(axis=1, keepdims=True) * shares[shares > 0.0]
    return max(1.0, float(((live - expected) ** 2 / expected).sum() / df)), df


def _p_values(shares: Floats, fair: Floats, slow: float, dispersion: float, df: int) -> Floats:
    z = (shares - fair) / np.sqrt(dispersion * fair * (1.0 - fair) / slow)
    return upper_tail(z, df)


def _floats(x: Floats) -> tuple[float, ...]:
    return tuple(float(v) for v in x)
