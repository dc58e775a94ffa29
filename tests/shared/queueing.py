"""Queueing theory: closed forms, Lindley's recursion, and the embedded server's random draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def mm1_sojourn(load: float, service: float, level: float) -> float:
    """Quantile of waiting plus service in M/M/1: exponential with mean service / (1 - load).

    Kleinrock, Queueing Systems 1 (1975), section 5.12.
    """
    return -math.log1p(-level) * service / (1.0 - load)


def md1_wait_cdf(load: float, wait: float) -> float:
    """P(wait <= `wait` service times) in M/D/1, first come first served.

    Erlang (1909); Crommelin (1932); as in Tijms, A First Course in Stochastic Models, section 9.2.
    The terms alternate in sign and grow like exp(load * wait): double precision suffices for about 20 service times.
    """
    if wait < 0.0:
        return 0.0
    terms = []
    for k in range(math.floor(wait) + 1):
        x = load * (wait - k)
        terms.append((-x) ** k / math.factorial(k) * math.exp(x))
    return (1.0 - load) * math.fsum(terms)


def md1_sojourn(load: float, service: float, level: float) -> float:
    """Quantile of waiting plus service in M/D/1; equal to `service` up to the atom at 1 - load."""
    if level <= 1.0 - load:
        return service
    low, high = 0.0, 20.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if md1_wait_cdf(load, middle) < level else (low, middle)
    return service * (1.0 + high)


def lindley(scheduled: Floats, service: Floats) -> Floats:
    """Time from schedule to end of service of each request in one first-come-first-served queue.

    Request i ends at max over j <= i of (scheduled_j + service_j + ... + service_i).
    """
    whole = np.cumsum(service)
    return np.maximum.accumulate(scheduled - (whole - service)) + whole - scheduled


def drawn_services(seed: int, count: int, mean: float) -> Floats:
    """The first `count` exponential service times of the embedded server (crates/random, counter.rs).

    Uses the same hash of seed, number and purpose: the finalizer of SplitMix64 (Steele et al. 2014), on Weyl sequences.
    """
    step, service = np.uint64(0x9E3779B97F4A7C15), np.uint64(1)

    def mix(bits: Any) -> Any:
        bits = bits + step
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))

    numbers = np.arange(count, dtype=np.uint64)
    base = mix(mix(np.full(1, seed, dtype=np.uint64)) ^ (numbers * step))
    uniform = ((mix(base + service * step) >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52
    return np.asarray(-mean * np.log1p(-uniform))


def scatter(
    quantiles: Callable[[Floats], Floats], load: float, count: int, *, exponential: bool, times: int = 100
) -> Floats:
    """Relative standard deviation of the quantiles of `count` requests, from simulation of the queue.

    Successive requests of a busy queue are correlated, so formulas for independent samples do not hold.
    """
    random = np.random.default_rng(1)
    estimates = []
    for _ in range(times):
        scheduled = np.cumsum(random.exponential(1.0 / load, count + 2000))
        service = random.exponential(1.0, count + 2000) if exponential else np.ones(count + 2000)
        estimates.append(
            quantiles(lindley(scheduled, service)[2000:])
        )  # without the start from an empty queue
    all_estimates = np.array(estimates)
    return np.asarray(all_estimates.std(axis=0, ddof=1) / all_estimates.mean(axis=0))
