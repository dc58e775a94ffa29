"""Pauses in services as a clone document has them: by the clock, or inside requests.

What takes a thread away by the clock hits it whether it serves or waits; only what hits a service is in its
time. So the rate is hits a second *of CPU time*: time in which one could be seen. In the clone it is a
process on the wall clock, because a pause that hits an idle thread delays whoever comes next (research note,
section 3.4). A request that waits by itself (a disk, a lock, another server) delays nobody at an idle thread;
such pauses come with a chance for each request.

In a clone, a pause that becomes due during another begins when that has ended. What a log shows are such
clusters: at a rate r of the time that the thread runs, of lengths C. With a = r E[C], pauses at the rate
r (1 + a), of lengths C / (1 + a)^2, make clusters of the same mean and mean square (the busy period of
M/G/1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.models.fit.bins import Floats
from hindmost.models.fit.laws.families import Empirical, rounded
from hindmost.models.fit.laws.mixture import LEAST_SIGMA

EMPIRICAL = 200
"""Pauses from which on their lengths are given as they were measured; fewer as a lognormal law."""


@dataclass(frozen=True)
class Disturbance:
    """Pauses of one sort.

    Parameters
    ----------
    hits : float
        How many; where pauses of both sorts are alike in length, the share of them that is of this sort.
    exposed_s : float
        CPU time in which they could be seen.
    lengths_us : array of shape (n,)
        How long each was.
    every_us : float or None
        Their period, where they come by the clock and evenly.
    requests : int or None
        Requests among which they came, where they are inside requests.
    within_us : tuple of float, optional
        95 % interval of the period.
    """

    hits: float
    exposed_s: float
    lengths_us: Floats = field(repr=False)
    every_us: float | None = None
    requests: int | None = None
    within_us: tuple[float, float] | None = None

    @property
    def per_second(self) -> float:
        """Rate by the wall clock."""
        return self.hits / self.exposed_s

    @property
    def name(self) -> str:
        """What a document calls it."""
        return "off the CPU" if self.requests is None else "waits inside requests"

    @property
    def rate(self) -> tuple[str, float]:
        """How often, by the name that a document has for it."""
        if self.requests is not None:
            return "probability", self.hits / self.requests
        if self.every_us is not None:
            return "every_us", self.every_us
        return "per_second", self.per_second * self._crowd

    @property
    def _crowd(self) -> float:
        """1 + a of the module's text; 1 where pauses do not fall together."""
        if self.requests is not None or self.every_us is not None:
            return 1.0
        return 1.0 + self.per_second * float(self.lengths_us.mean()) / 1e6

    @property
    def _single_us(self) -> Floats:
        """Lengths of single pauses."""
        return np.asarray(self.lengths_us / self._crowd**2)

    def document(self) -> dict[str, Any]:
        """Its text in a clone document."""
        name, value = self.rate
        kind = {"probability": "chance", "every_us": "periodic", "per_second": "poisson"}[name]
        when = {"kind": kind, name: rounded(value)}
        scope = "thread" if self.requests is None else "request"
        return {"name": self.name, "scope": scope, "when": when, "length": self._length()}

    def _length(self) -> dict[str, Any]:
        lengths = self._single_us
        if lengths.size >= EMPIRICAL:
            points: dict[str, Any] = Empirical.of(np.sort(lengths), body=50, per_decade=10).document()[0][
                "law"
            ]
            return points
        return {
            "kind": "lognormal",
            "mean_us": rounded(float(lengths.mean())),
            "sigma_log": rounded(max(float(np.log(lengths).std(ddof=1)), LEAST_SIGMA)),
            "at_most_us": rounded(float(lengths.max())),
        }

    def intervals(self, name: str) -> dict[str, tuple[float, float]]:
        """95 % intervals: of rate or chance by the count of hits, of mean and scatter of the lengths."""
        low = float(special.gammaincinv(self.hits, 0.025))
        high = float(special.gammaincinv(self.hits + 1, 0.975))
        lengths, n = self._single_us, self.lengths_us.size
        reach = float(special.stdtrit(n - 1, 0.975)) * float(lengths.std(ddof=1)) / np.sqrt(n)
        mean = float(lengths.mean())
        found = {f"{name}.length.mean_us": (max(mean - reach, float(lengths.min())), mean + reach)}
        if n < EMPIRICAL:
            sigma = max(float(np.log(lengths).std(ddof=1)), LEAST_SIGMA)
            ends = [float(special.chdtri(n - 1, p)) for p in (0.025, 0.975)]
            found[f"{name}.length.sigma_log"] = (
                sigma * np.sqrt((n - 1) / ends[0]),
                sigma * np.sqrt((n - 1) / ends[1]),
            )
        if self.requests is not None:
            found[f"{name}.when.probability"] = (low / self.requests, min(1.0, high / self.requests))
        elif self.every_us is None:
            found[f"{name}.when.per_second"] = (
                self._crowd * low / self.exposed_s,
                self._crowd * high / self.exposed_s,
            )
        elif self.within_us is not None:
            found[f"{name}.when.every_us"] = self.within_us
        return {key: (rounded(low), rounded(high)) for key, (low, high) in found.items()}
