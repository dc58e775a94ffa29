"""Causes of delay within stages, and culprits: shares of the variance of latency.

A part x of a request's time (for example the wait behind another thread) has the share ``Cov(x, latency) /
Var(latency)``, like a stage; the parts of a stage add up to it. Without it, the variance of latency would be
``Var(latency) - 2 Cov(x, latency) + Var(x)``, all else being equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.stats.estimate import Estimate
from hindmost.stats.stages.decomposition import CONFIDENCE, DRAWS, LEAST_BLOCKS
from hindmost.stats.stages.moments import Reals

WHO = ("name", "process", "relation", "requests", "threads", "foremost")
"""Fields of a culprit."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the time of all requests.

    Attributes
    ----------
    stage, cause : str
    who : mapping or None
        A culprit (`WHO`); None for all culprits together.
    mean_us : Estimate
        Per request, over all requests.
    share : Estimate or None
        Share of the variance of latency; None if latency does not vary.
    sd_without_us : float
        Standard deviation of latency without the part, all else being equal.
    """

    stage: str
    cause: str
    who: Mapping[str, Any] | None
    mean_us: Estimate
    share: Estimate | None
    sd_without_us: float


@dataclass(frozen=True, slots=True)
class Causes:
    """Parts by stage and cause, and by culprit, sorted by their share of the variance."""

    parts: list[Part]
    culprits: list[Part]


def causes(who: Mapping[str, Any], *, seed: int = 1) -> Causes:
    """Compute parts and culprits with their shares.

    Parameters
    ----------
    who : dict
        From the engine's ``Trace``.
    seed : int
        Random seed of the bootstrap over blocks.

    Examples
    --------
    >>> x = np.array([0.0, 10.0])
    >>> t = x + 5.0
    >>> sums = [x.sum(), (x * x).sum(), (x * t).sum()]
    >>> block = {"n": 2, "latency": t.sum(), "latency_square": (t * t).sum(), "parts": [sums]}
    >>> found = causes({"blocks": [block], "stages": ["tcp_to_read"], "causes": ["run_queue"],
    ...                 "culprits": []})
    >>> one = found.parts[0]
    >>> one.mean_us.value, one.share.value, one.sd_without_us
    (5.0, 1.0, 0.0)
    """
    blocks = [(place, block) for place, block in enumerate(who["blocks"]) if block["n"]]
    places = [place for place, _ in blocks]
    whole = np.array([[b["n"], b["latency"], b["latency_square"]] for _, b in blocks], dtype=float)
    weights = np.ones((1, len(blocks)))
    if len(blocks) >= LEAST_BLOCKS:
        draws = np.random.default_rng(seed).multinomial(
            len(blocks), np.full(len(blocks), 1 / len(blocks)), DRAWS
        )
        weights = np.vstack([weights, draws.astype(float)])

    def part(stage: str, cause: str, culprit: Mapping[str, Any] | None, sums: Reals) -> Part:
        return _part((stage, cause, culprit), weights @ whole, weights @ sums)

    names = [(stage, cause) for stage in who["stages"] for cause in who["causes"]]
    parts = [
        part(stage, cause, None, np.array([b["parts"][at] for _, b in blocks], dtype=float))
        for at, (stage, cause) in enumerate(names)
    ]
    culprits = [
        part(
            one["stage"],
            one["cause"],
            {name: one[name] for name in WHO},
            np.array([one["blocks"][place] for place in places], dtype=float),
        )
        for one in who["culprits"]
    ]
    parts = [one for one in parts if one.mean_us.value > 0]
    return Causes(*(sorted(of, key=lambda one: -_share(one)) for of in (parts, culprits)))


def _share(part: Part) -> float:
    return 0.0 if part.share is None else part.share.value


def _part(names: tuple[str, str, Mapping[str, Any] | None], whole: Reals, sums: Reals) -> Part:
    """Compute a part from weighted sums of blocks: one row per draw, the first one unweighted."""
    n = whole[:, 0]
    latency, x = whole[:, 1] / n, sums[:, 0] / n
    variance = whole[:, 2] / n - latency**2
    own, shared = sums[:, 1] / n - x**2, sums[:, 2] / n - x * latency
    with np.errstate(invalid="ignore", divide="ignore"):
        share = shared / variance
    requests = int(n[0])
    return Part(
        *names,
        mean_us=_estimate(x, requests),
        share=_estimate(share, requests) if variance[0] > 0 else None,
        sd_without_us=math.sqrt(max(0.0, float(variance[0] - 2 * shared[0] + own[0]))),
    )


def _estimate(values: Reals, requests: int) -> Estimate:
    value, drawn = float(values[0]), values[1:]
    low = high = math.nan
    if len(drawn) and np.isfinite(drawn).all():
        tail = (1 - CONFIDENCE) / 2
        low, high = (float(end) for end in np.quantile(drawn, [tail, 1 - tail]))
        low, high = min(low, value), max(high, value)
    return Estimate(value, low, high, n=requests, confidence=CONFIDENCE)
