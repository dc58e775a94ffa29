"""Pauses in services as a clone document has them: by the clock, or inside requests.

What takes a thread away by the clock hits it whether it serves or waits; only what hits a service is in its
time. So the rate is hits a second *of CPU time*: time in which one could be seen. In the clone it is a
process on the wall clock, because a pause that hits an idle thread delays whoever comes next (research note,
section 3.4). A request that waits by itself (a disk, a lock, another server) delays nobody at an idle thread;
such pauses come with a chance for each request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.models.fit.bins import Floats
from hindmost.models.fit.laws import Empirical, rounded
from hindmost.models.fit.mixture import LEAST_SIGMA

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
        return ("per_second", self.per_second) if self.every_us is None else ("every_us", self.every_us)

    def document(self) -> dict[str, Any]:
        """Its text in a clone document."""
        name, value = self.rate
        kind = {"probability": "chance", "every_us": "periodic", "per_second": "poisson"}[name]
        when = {"kind": kind, name: rounded(value)}
        scope = "thread" if self.requests is None else "request"
        return {"name": self.name, "scope": scope, "when": when, "length": self._length()}

    def _length(self) -> dict[str, Any]:
        if self.lengths_us.size >= EMPIRICAL:
            points: dict[str, Any] = Empirical.of(
                np.sort(self.lengths_us), body=50, per_decade=10
            ).document()[0]["law"]
            return points
        return {
            "kind": "lognormal",
            "mean_us": rounded(float(self.lengths_us.mean())),
            "sigma_log": rounded(max(float(np.log(self.lengths_us).std(ddof=1)), LEAST_SIGMA)),
            "at_most_us": rounded(float(self.lengths_us.max())),
        }

    def intervals(self, name: str) -> dict[str, tuple[float, float]]:
        """95 % intervals: of rate or chance by the count of hits, of mean and scatter of the lengths."""
        low = float(special.gammaincinv(self.hits, 0.025))
        high = float(special.gammaincinv(self.hits + 1, 0.975))
        n = self.lengths_us.size
        reach = float(special.stdtrit(n - 1, 0.975)) * float(self.lengths_us.std(ddof=1)) / np.sqrt(n)
        mean = float(self.lengths_us.mean())
        found = {f"{name}.length.mean_us": (max(mean - reach, float(self.lengths_us.min())), mean + reach)}
        if n < EMPIRICAL:
            sigma = max(float(np.log(self.lengths_us).std(ddof=1)), LEAST_SIGMA)
            ends = [float(special.chdtri(n - 1, p)) for p in (0.025, 0.975)]
            found[f"{name}.length.sigma_log"] = (
                sigma * np.sqrt((n - 1) / ends[0]),
                sigma * np.sqrt((n - 1) / ends[1]),
            )
        if self.requests is not None:
            found[f"{name}.when.probability"] = (low / self.requests, min(1.0, high / self.requests))
        elif self.every_us is None:
            found[f"{name}.when.per_second"] = (low / self.exposed_s, high / self.exposed_s)
        elif self.within_us is not None:
            found[f"{name}.when.every_us"] = self.within_us
        return {key: (rounded(low), rounded(high)) for key, (low, high) in found.items()}
