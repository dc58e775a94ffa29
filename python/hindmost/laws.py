"""The laws of arrivals, as the engine's table (``crates/arrivals``) has them; Python knows none by name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hindmost import _engine


@dataclass(frozen=True, slots=True)
class Law:
    """A law of arrivals.

    Attributes
    ----------
    dispersion
        Index of dispersion of counts that it gives, variance over mean: 1 for a Poisson process.
    gaps
        Whether its gaps have a distribution that sends can be compared with.
    """

    name: str
    dispersion: float
    gaps: bool

    def below(self, x: Iterable[float]) -> list[float]:
        """Share of gaps below `x` mean gaps."""
        return _engine.gap_law(self.name, list(x))[0]

    def log_above(self, x: Iterable[float]) -> list[float]:
        """Logarithm of the share of gaps above `x` mean gaps, finite however small that share is."""
        return _engine.gap_law(self.name, list(x))[1]


LAWS: dict[str, Law] = {one["name"]: Law(**one) for one in json.loads(_engine.arrival_laws())}
"""Every law by its name, the usual one first."""

USUAL = next(iter(LAWS))

if TYPE_CHECKING:
    ArrivalLaw = str
else:
    ArrivalLaw = Literal[*LAWS]
"""The name of a law; pydantic and the command line refuse any other."""
