"""Profiles of several programs as arrays, for the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LEAST_KEPT = 1e-3
"""Smallest share of a rate. A window with less is broken, and its logarithm is meaningless."""


@dataclass(frozen=True, slots=True)
class Profiles:
    """Sensitivity and contentiousness of several programs on the same stressors.

    Attributes
    ----------
    names, stressors : tuple of str
    sensitivity : array, programs x stressors
        Share of its rate that a program loses next to a stressor (Eq 3.1).
    contentiousness : array, programs x stressors
        Share that the stressor loses next to the program, relative to its rate next to the inert one (Eq
        3.2).
    presence : array, programs
        Share that a program loses to an inert companion, because a core's resources are split as soon as both
        of its threads are in use. Zeros if each program has its own cores.
    sensitivity_sd, contentiousness_sd : array, programs x stressors, or None
        Standard errors.
    """

    names: tuple[str, ...]
    stressors: tuple[str, ...]
    sensitivity: Array
    contentiousness: Array
    presence: Array
    sensitivity_sd: Array | None = None
    contentiousness_sd: Array | None = None

    def calibrate(self) -> Profiles:
        """Return a copy with both factors shrunk towards the mean of all programs, as far as they are noise.

        If programs differ by a standard deviation ``t`` and a factor is measured with an error of ``s``, it
        keeps ``t^2 / (t^2 + s^2)`` of its deviation (regression calibration; Carroll et al. 2006, chapter 4).
        Without this, least squares on noisy factors is biased towards zero.
        """
        return replace(
            self,
            sensitivity=_shrink(self.sensitivity, self.sensitivity_sd),
            contentiousness=_shrink(self.contentiousness, self.contentiousness_sd),
        )


def _shrink(values: Array, errors: Array | None) -> Array:
    if errors is None or len(values) < 3:
        return values
    mean = values.mean(axis=0)
    between = np.maximum(0.0, values.var(axis=0, ddof=1) - (errors**2).mean(axis=0))
    total = between + errors**2
    share = np.divide(between, total, out=np.ones_like(total), where=total > 0)
    shrunk: Array = mean + share * (values - mean)
    return shrunk


def profiles_from_cards(cards: Sequence[Mapping[str, Any]]) -> Profiles:
    """Convert profiles ``hindmost.profile/2``, for the stressors that all of them contain."""
    axes = [{axis["stressor"]: axis for axis in card["axes"]} for card in cards]
    shared = [
        name
        for name in axes[0]
        if all(own.get(name, {}).get(key) for own in axes for key in ("sensitivity", "contentiousness"))
    ]

    def values(key: str) -> Array:
        return np.array([[own[name][key]["value"] for name in shared] for own in axes], dtype=float)

    def errors(key: str) -> Array:
        ends = [[own[name][key] for name in shared] for own in axes]
        return np.array([[(one["high"] - one["low"]) / 3.92 for one in row] for row in ends], dtype=float)

    presence = [0.0 if card["presence"] is None else card["presence"]["value"] for card in cards]
    return Profiles(
        tuple(card["name"] for card in cards),
        tuple(shared),
        values("sensitivity"),
        values("contentiousness"),
        np.array(presence),
        errors("sensitivity"),
        errors("contentiousness"),
    )
