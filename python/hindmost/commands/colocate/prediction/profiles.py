"""Profiles of several programs as arrays, for the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hindmost.commands.colocate.documents.profiles import Profile, Share

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


def profiles_from_cards(cards: Sequence[Profile]) -> Profiles:
    """Convert profiles ``hindmost.profile/2``, for the stressors that all of them contain."""
    known = [
        {
            axis.stressor: (axis.sensitivity, axis.contentiousness)
            for axis in card.axes
            if axis.sensitivity is not None and axis.contentiousness is not None
        }
        for card in cards
    ]
    shared = [name for name in known[0] if all(name in own for own in known)]
    sensitivity, contentiousness = (
        [[own[name][which] for name in shared] for own in known] for which in (0, 1)
    )

    def errors(shares: list[list[Share]]) -> Array:
        return np.array([[one.standard_error for one in row] for row in shares], dtype=float)

    presence = [0.0 if card.presence is None else card.presence.value for card in cards]
    return Profiles(
        tuple(card.name for card in cards),
        tuple(shared),
        values_of(sensitivity),
        values_of(contentiousness),
        np.array(presence),
        errors(sensitivity),
        errors(contentiousness),
    )


def values_of(shares: Sequence[Sequence[Share | None]]) -> Array:
    """Return the values of a matrix of shares; NaN for missing ones."""
    return np.array([[np.nan if one is None else one.value for one in row] for row in shares], dtype=float)
