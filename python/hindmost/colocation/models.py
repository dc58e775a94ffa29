"""Predictions of what a program loses next to another, from both profiles.

Baselines stand next to the models, always: on a machine where little interferes "nothing is lost" is right
within the paper's error, and most of what can be told is who suffers, not from whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hindmost.colocation.profiles import LEAST_KEPT, Array, Profiles

Index = NDArray[np.intp]


class Model(Protocol):
    """Settings in the constructor; ``fit`` returns self."""

    name: str

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Learn from pairs: ``lost[k]`` is what ``victims[k]`` loses beside ``companions[k]``."""
        ...

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """Share of its rate that each victim loses."""
        ...


class Zero:
    """Nobody loses anything."""

    name = "zero"

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Learn nothing."""
        return self

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """Zeros."""
        return np.zeros(len(victims))


class NaiveMean:
    """Everybody loses what the pairs seen lost on average."""

    name = "naive mean"

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Keep the mean."""
        self.mean_ = float(np.mean(lost))
        return self

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """One number."""
        return np.full(len(victims), self.mean_)


class RowMean:
    """A line on what the victim loses on average over stressors and inert companion: blind to the partner."""

    name = "row mean"

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Fit the line."""
        self.slope_, self.constant_ = np.polyfit(self._row(profiles)[victims], lost, 1)
        return self

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """On the line."""
        line: Array = self.constant_ + self.slope_ * self._row(profiles)[victims]
        return line

    @staticmethod
    def _row(profiles: Profiles) -> Array:
        row: Array = np.column_stack([profiles.sensitivity, profiles.presence]).mean(axis=1)
        return row


class Linear:
    """Eq 3.3, ``sum c_i Sen_i Con_i + c_0``: as printed, or non-negative, with presence, or without partners.

    Parameters
    ----------
    name : str
    partner : bool
        Whether the companion's contentiousness is a factor.
    presence : bool
        Whether what the victim loses to an inert companion is a term: Eq 3.3 lacks it, and a constant cannot
        stand in for it, as it differs from program to program.
    positive : bool
        Whether coefficients may not be negative.
    ridge : float
        A penalty on their squares.
    """

    def __init__(
        self,
        name: str = "Eq 3.3",
        *,
        partner: bool = True,
        presence: bool = False,
        positive: bool = False,
        ridge: float = 1e-9,
    ) -> None:
        self.name = name
        self.partner = partner
        self.presence = presence
        self.positive = positive
        self.ridge = ridge

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Least squares, with a ridge where there is one."""
        x = self._terms(profiles, victims, companions)
        if self.positive:
            from scipy.optimize import nnls  # type: ignore[import-untyped]

            self.coefficients_ = nnls(x, lost)[0]
        else:
            # As many victims as stressors: without a little ridge the figures of strangers explode.
            ridge = self.ridge * len(lost) * np.eye(x.shape[1])
            self.coefficients_ = np.linalg.solve(x.T @ x + ridge, x.T @ lost)
        return self

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """The sum."""
        found: Array = self._terms(profiles, victims, companions) @ self.coefficients_
        return found

    def _terms(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        terms = profiles.sensitivity[victims]
        if self.partner:
            terms = terms * profiles.contentiousness[companions]
        extra = [np.ones(len(victims))]
        if self.presence:
            extra.append(profiles.presence[victims])
        return np.column_stack([terms, *extra])


class Kept:
    """What is left is a product: of what presence leaves, and of what each resource leaves of that.

    ``-log(1 - lost) = c_0 P + sum c_i S_i C_i`` with ``P``, ``S``, ``C`` the same logarithm of presence, of
    sensitivity beyond presence, of contentiousness; no coefficient is negative. Losses on top of each
    other cannot
    come to more than all, and what every stressor takes by being there is counted once, not once a stressor.

    Parameters
    ----------
    calibrated : bool
        Whether factors are shrunk by their errors first (`Profiles.calibrated`).
    """

    def __init__(self, *, calibrated: bool = True) -> None:
        self.name = "kept"
        self.calibrated = calibrated

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Non-negative least squares, weighted so that errors count in shares lost, not in logarithms."""
        from scipy.optimize import nnls

        weight = np.clip(1 - lost, LEAST_KEPT, None)
        terms = self._terms(profiles, victims, companions)
        self.coefficients_ = nnls(terms * weight[:, None], _log_kept(lost) * weight)[0]
        return self

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """What the product leaves, taken from one."""
        found: Array = 1 - np.exp(-self._terms(profiles, victims, companions) @ self.coefficients_)
        return found

    def _terms(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        if self.calibrated:
            profiles = profiles.calibrated()
        presence = _log_kept(profiles.presence)
        beyond = np.clip(_log_kept(profiles.sensitivity) - presence[:, None], 0, None)
        taken = np.clip(_log_kept(profiles.contentiousness), 0, None)
        products = beyond[victims] * taken[companions]
        return np.column_stack([products, np.clip(presence[victims], 0, None)])


class Mean:
    """The mean of several models: what they get wrong is in part their own."""

    def __init__(self, name: str, parts: Sequence[Model]) -> None:
        self.name = name
        self.parts = parts

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Fit each."""
        for part in self.parts:
            part.fit(profiles, victims, companions, lost)
        return self

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """Mean of theirs."""
        found: Array = np.mean([part.predict(profiles, victims, companions) for part in self.parts], axis=0)
        return found


def ours() -> Mean:
    """What promises are made by: the sum and the product, which err differently."""
    return Mean("mean of sum and product", (_sum(), Kept()))


def _sum() -> Linear:
    return Linear("Eq 3.3, non-negative, with presence", presence=True, positive=True)


def _log_kept(lost: Array) -> Array:
    logs: Array = -np.log(np.clip(1 - lost, LEAST_KEPT, None))
    return logs


def baselines() -> list[Model]:
    """What a model has to beat."""
    return [
        Zero(),
        NaiveMean(),
        RowMean(),
        Linear("sensitivities only", partner=False, presence=True, ridge=1e-3),
    ]


def models() -> list[Model]:
    """The paper's, and ours."""
    return [
        Linear("Eq 3.3"),
        _sum(),
        Kept(),
        ours(),
    ]
