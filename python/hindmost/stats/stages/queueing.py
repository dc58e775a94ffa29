"""Effect of the mean and the variance of service times on latency: the Pollaczek-Khinchine formula.

Latency grows with the mean of service times and, if there is a queue, with their variance. A change that
reduces variance may justify a longer mean, and vice versa (Suresh and Gandhi, WWW 2019, section 2 and Figure
1).
"""

from __future__ import annotations

import math


def sojourn_us(rate_per_s: float, mean_us: float, variance_us2: float) -> float:
    """Return the mean of waiting plus service at one server with Poisson arrivals (M/G/1).

    It is infinite if the server is overloaded.

    Parameters
    ----------
    rate_per_s : float
        Arrival rate at this server.
    mean_us, variance_us2 : float
        Mean and variance of service times.

    Examples
    --------
    >>> sojourn_us(50_000, 10.0, 100.0)  # exponential service, half busy: E[S] / (1 - busy)
    20.0
    >>> sojourn_us(50_000, 10.0, 0.0)  # without variance half of the wait is gone
    15.0
    """
    busy = rate_per_s * mean_us / 1e6
    if busy >= 1:
        return math.inf
    return mean_us + rate_per_s / 1e6 * (variance_us2 + mean_us**2) / (2 * (1 - busy))


def break_even_us(rate_per_s: float, mean_us: float, variance_us2: float, less_us2: float) -> float | None:
    """Return the mean service time at which reducing the variance by `less_us2` no longer pays.

    None if the server is overloaded.

    Examples
    --------
    >>> round(break_even_us(50_000, 10.0, 100.0, 100.0), 2)
    11.72
    >>> break_even_us(50_000, 10.0, 100.0, 0.0)
    10.0
    """
    now = sojourn_us(rate_per_s, mean_us, variance_us2)
    if not math.isfinite(now):
        return None
    if less_us2 <= 0:
        return mean_us
    low, high = mean_us, 1e6 / rate_per_s
    for _ in range(60):
        middle = (low + high) / 2
        if sojourn_us(rate_per_s, middle, max(0.0, variance_us2 - less_us2)) <= now:
            low = middle
        else:
            high = middle
    return low
