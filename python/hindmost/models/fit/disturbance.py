"""What took the CPU away while requests were served: how often, for how long, by the clock or by chance.

A disturbance hits a thread whether it serves or waits; only those that hit a service are in the log. So the
rate is hits a second *of CPU time*: time in which one could be seen. In the clone it is a process on the wall
clock, because a gap that hits an idle thread delays whoever comes next (research note, section 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.models.fit.bins import Floats
from hindmost.models.fit.demand import Demand
from hindmost.models.fit.laws import Empirical, rounded
from hindmost.models.fit.mixture import LEAST_SIGMA
from hindmost.models.fit.reading import Log

LEAST_US = 5.0
"""Shorter gaps are interrupts of every kind; below this, the difference of two clocks."""

LEAST_HITS = 10
"""Fewer are told, but their law cannot be."""

REGULAR = 0.9
"""Length of the mean vector of phases (Rayleigh) above which hits come by the clock."""


@dataclass(frozen=True)
class Disturbance:
    """Gaps in services.

    Parameters
    ----------
    hits : int
        How many.
    exposed_s : float
        CPU time in which they could be seen.
    lengths_us : array of shape (hits,)
        How long each was.
    every_us : float or None
        Their period, where they come by the clock.
    """

    hits: int
    exposed_s: float
    lengths_us: Floats
    every_us: float | None

    @property
    def per_second(self) -> float:
        """Rate by the wall clock."""
        return self.hits / self.exposed_s

    def document(self) -> dict[str, Any]:
        """Its text in a clone document."""
        by_clock = self.every_us is not None
        when = (
            {"kind": "periodic", "every_us": rounded(self.every_us or 0.0)}
            if by_clock
            else {"kind": "poisson", "per_second": rounded(self.per_second)}
        )
        return {"name": "off the CPU", "scope": "thread", "when": when, "length": self._length()}

    def _length(self) -> dict[str, Any]:
        if self.hits >= 200:
            points: dict[str, Any] = Empirical.of(
                np.sort(self.lengths_us), body=50, per_decade=10
            ).document()[0]["law"]
            return points
        x = np.log(self.lengths_us)
        sigma = max(float(x.std(ddof=1)), LEAST_SIGMA)
        return {
            "kind": "lognormal",
            "mean_us": rounded(float(self.lengths_us.mean())),
            "sigma_log": rounded(sigma),
            "at_most_us": rounded(float(self.lengths_us.max())),
        }

    def intervals(self, name: str) -> dict[str, tuple[float, float]]:
        """95 % interval of the rate, by the Poisson law of the hits; absent where they come by the clock."""
        if self.every_us is not None:
            return {}
        low = float(special.gammaincinv(self.hits, 0.025)) / self.exposed_s
        high = float(special.gammaincinv(self.hits + 1, 0.975)) / self.exposed_s
        return {f"{name}.when.per_second": (rounded(low), rounded(high))}


def find_disturbance(log: Log, demand: Demand) -> Disturbance | str:
    """Find gaps; or say why none can be told.

    Returns
    -------
    Disturbance or str
        The text says what is unknown, and is empty where nothing happened.
    """
    if demand.excess_us is None:
        return ""  # the demand says already that it has no CPU time
    hit = demand.excess_us > LEAST_US
    hits = int(hit.sum())
    if hits == 0:
        return ""
    exposed = float(demand.us.sum()) / 1e6
    lengths = demand.excess_us[hit]
    if hits < LEAST_HITS:
        return (
            f"{hits} gap{'s' if hits > 1 else ''} off the CPU (longest {lengths.max():.4g} us) in"
            f" {exposed:.3g} s of"
            f" service: too few to tell a law (at least {LEAST_HITS}); none is in the clone"
        )
    begins = None if log.start_us is None else log.start_us[hit]
    return Disturbance(hits, exposed, lengths, None if begins is None else _period(begins))


def _period(begins_us: Floats) -> float | None:
    """The period of moments, by the Rayleigh test; None where there is none."""
    gaps = np.diff(begins_us)
    gaps = gaps[gaps > 0]
    if gaps.size < 2 * LEAST_HITS:
        return None
    usual = float(np.median(gaps))
    # Phases drift apart over many periods: the period must be found to a small part of 1 / hits.
    near = gaps[(gaps > 0.8 * usual) & (gaps < 1.2 * usual)]
    if near.size < 0.5 * gaps.size:
        return None
    fine = float(near.mean())
    for _ in range(4):
        turns = np.round((begins_us - begins_us[0]) / fine)
        if turns[-1] < 1:
            return None
        fine = float(np.polyfit(turns, begins_us, 1)[0])
    phase = 2 * np.pi * (begins_us / fine)
    return fine if abs(np.exp(1j * phase).mean()) > REGULAR else None
