"""Models that predict from two profiles what a program loses next to another.

Baselines are always shown next to the models. On a machine with little interference, "nothing is lost" is
right within the paper's error, and most of what can be predicted is who suffers, not from whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hindmost.commands.colocate.prediction.profiles import LEAST_KEPT, Array, Profiles

Index = NDArray[np.intp]


class Model(Protocol):
    """A predictor of losses. Settings are given to the constructor; ``fit`` returns self."""

    name: str

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Learn from pairs: ``lost[k]`` is the share that ``victims[k]`` loses next to ``companions[k]``."""
        ...

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """Predict the share of its rate that each victim loses."""
        ...


class Zero:
    """A baseline: no program loses anything."""

    name = "zero"

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Learn nothing."""
        return self

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """Return zeros."""
        return np.zeros(len(victims))


class NaiveMean:
    """A baseline: every program loses the mean of the known pairs."""

    name = "naive mean"

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Compute the mean loss."""
        self.mean_ = float(np.mean(lost))
        return self

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """Return the mean loss for each pair."""
        return np.full(len(victims), self.mean_)


class RowMean:
    """A baseline that ignores the companion: a line on the victim's mean loss to all stressors."""

    name = "row mean"

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Fit the line by least squares."""
        self.slope_, self.constant_ = np.polyfit(self._row(profiles)[victims], lost, 1)
        return self

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """Evaluate the line."""
        line: Array = self.constant_ + self.slope_ * self._row(profiles)[victims]
        return line

    @staticmethod
    def _row(profiles: Profiles) -> Array:
        row: Array = np.column_stack([profiles.sensitivity, profiles.presence]).mean(axis=1)
        return row


class Linear:
    """Eq 3.3, ``sum c_i Sen_i Con_i + c_0``: as printed, non-negative, with presence, or without companion.

    Parameters
    ----------
    name : str
    partner : bool
        Whether the companion's contentiousness is a factor.
    presence : bool
        Whether the victim's loss to an inert companion is a term. Eq 3.3 lacks it, and a constant cannot
        replace it, because it differs between programs.
    positive : bool
        Whether coefficients may not be negative.
    ridge : float
        Penalty on the squares of coefficients.
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
        """Fit by least squares, with the ridge penalty."""
        x = self._terms(profiles, victims, companions)
        if self.positive:
            from scipy.optimize import nnls  # type: ignore[import-untyped]

            self.coefficients_ = nnls(x, lost)[0]
        else:
            # There are as many victims as stressors; without a small ridge, predictions for new programs
            # explode.
            ridge = self.ridge * len(lost) * np.eye(x.shape[1])
            self.coefficients_ = np.linalg.solve(x.T @ x + ridge, x.T @ lost)
        return self

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """Evaluate the sum."""
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


class Product:
    """A product: presence leaves a part of the rate, and each resource leaves a part of that.

    ``-log(1 - lost) = c_0 P + sum c_i S_i C_i``, where ``P``, ``S``, ``C`` are the same logarithm of
    presence, of sensitivity beyond presence, and of contentiousness. No coefficient is negative. Combined
    losses cannot exceed the whole rate, and the cost of presence counts once, not once per stressor.

    Parameters
    ----------
    calibrated : bool
        Whether to shrink the factors by their errors first (`Profiles.calibrate`).
    """

    def __init__(self, *, calibrated: bool = True) -> None:
        self.name = "kept"
        self.calibrated = calibrated

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Fit by non-negative least squares, weighted so that errors count in shares lost, not in logs."""
        from scipy.optimize import nnls

        weight = np.clip(1 - lost, LEAST_KEPT, None)
        terms = self._terms(profiles, victims, companions)
        self.coefficients_ = nnls(terms * weight[:, None], _log_kept(lost) * weight)[0]
        return self

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """Evaluate the product, and return the share that it does not leave."""
        found: Array = 1 - np.exp(-self._terms(profiles, victims, companions) @ self.coefficients_)
        return found

    def _terms(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        if self.calibrated:
            profiles = profiles.calibrate()
        presence = _log_kept(profiles.presence)
        beyond = np.clip(_log_kept(profiles.sensitivity) - presence[:, None], 0, None)
        taken = np.clip(_log_kept(profiles.contentiousness), 0, None)
        products = beyond[victims] * taken[companions]
        return np.column_stack([products, np.clip(presence[victims], 0, None)])


class Mean:
    """The mean of several models, whose errors partly cancel."""

    def __init__(self, name: str, parts: Sequence[Model]) -> None:
        self.name = name
        self.parts = parts

    def fit(self, profiles: Profiles, victims: Index, companions: Index, lost: Array) -> Self:
        """Fit each model."""
        for part in self.parts:
            part.fit(profiles, victims, companions, lost)
        return self

    def predict(self, profiles: Profiles, victims: Index, companions: Index) -> Array:
        """Return the mean of the predictions."""
        found: Array = np.mean([part.predict(profiles, victims, companions) for part in self.parts], axis=0)
        return found


def default_model() -> Mean:
    """Return the model behind admissions: the mean of the sum and the product, which err differently."""
    return Mean("mean of sum and product", (_sum(), Product()))


def _sum() -> Linear:
    return Linear("Eq 3.3, non-negative, with presence", presence=True, positive=True)


def _log_kept(lost: Array) -> Array:
    logs: Array = -np.log(np.clip(1 - lost, LEAST_KEPT, None))
    return logs


def baselines() -> list[Model]:
    """Return the models that a useful model has to beat."""
    return [
        Zero(),
        NaiveMean(),
        RowMean(),
        Linear("sensitivities only", partner=False, presence=True, ridge=1e-3),
    ]


def models() -> list[Model]:
    """Return the paper's model and ours."""
    return [
        Linear("Eq 3.3"),
        _sum(),
        Product(),
        default_model(),
    ]
