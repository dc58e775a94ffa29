"""Pauses in services as in a clone document: by the clock, or inside requests.

Whatever takes a thread off the CPU by the clock does so whether the thread serves or waits, but service times
show only pauses during services. So the rate is hits per second *of CPU time*, the time in which a pause
could be seen. In the clone it is a process on the wall clock, because a pause of an idle thread delays the
next request (research note, section 3.4). A request that waits by itself (for a disk, a lock or another
server) delays nobody at an idle thread; such pauses have a probability per request.

In a clone, a pause that becomes due during another begins when the other has ended. A log shows such
clusters: at a rate r of the running time of the thread, of lengths C. With a = r E[C], pauses at the rate r
(1 + a) of lengths C / (1 + a)^2 form clusters of the same mean and mean square (the busy period of M/G/1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.laws.families import Empirical, round_digits
from hindmost.commands.clone.fit.laws.mixture import LEAST_SIGMA

EMPIRICAL = 200
"""Fewest pauses for an empirical law of lengths; fewer get a lognormal law."""


@dataclass(frozen=True)
class Disturbance:
    """Pauses of one type.

    Parameters
    ----------
    hits : float
        Number of pauses; if both types have similar lengths, the estimated number of this type.
    exposed_s : float
        CPU time in which pauses could be seen.
    lengths_us : array of shape (n,)
        Length of each pause.
    every_us : float or None
        Period of regular pauses by the clock.
    requests : int or None
        Number of requests in which pauses inside requests could occur.
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
        """Rate per second of wall time."""
        return self.hits / self.exposed_s

    @property
    def name(self) -> str:
        """Name in a clone document."""
        return "off the CPU" if self.requests is None else "waits inside requests"

    @property
    def rate(self) -> tuple[str, float]:
        """The frequency with its name in a clone document."""
        if self.requests is not None:
            return "probability", self.hits / self.requests
        if self.every_us is not None:
            return "every_us", self.every_us
        return "per_second", self.per_second * self._crowd

    @property
    def _crowd(self) -> float:
        """1 + a of the module's docstring; 1 if pauses do not overlap."""
        if self.requests is not None or self.every_us is not None:
            return 1.0
        return 1.0 + self.per_second * float(self.lengths_us.mean()) / 1e6

    @property
    def _single_us(self) -> Floats:
        """Lengths of single pauses."""
        return np.asarray(self.lengths_us / self._crowd**2)

    def document(self) -> dict[str, Any]:
        """Return the disturbance for a clone document."""
        name, value = self.rate
        kind = {"probability": "chance", "every_us": "periodic", "per_second": "poisson"}[name]
        when = {"kind": kind, name: round_digits(value)}
        scope = "thread" if self.requests is None else "request"
        return {"name": self.name, "scope": scope, "when": when, "length": self._length()}

    def _length(self) -> dict[str, Any]:
        lengths = self._single_us
        if lengths.size >= EMPIRICAL:
            law = Empirical.from_sorted(np.sort(lengths), body=50, per_decade=10)
            points: dict[str, Any] = law.document()[0]["law"]
            return points
        return {
            "kind": "lognormal",
            "mean_us": round_digits(float(lengths.mean())),
            "sigma_log": round_digits(max(float(np.log(lengths).std(ddof=1)), LEAST_SIGMA)),
            "at_most_us": round_digits(float(lengths.max())),
        }

    def intervals(self, name: str) -> dict[str, tuple[float, float]]:
        """Return 95 % intervals of rate or probability, and of mean and scatter of the lengths."""
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
        return {key: (round_digits(low), round_digits(high)) for key, (low, high) in found.items()}
