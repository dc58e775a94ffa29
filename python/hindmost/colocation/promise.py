"""May this job run beside that server: a promise at a rate of violations that the user chooses.

A point prediction is as often too low as too high. What is promised is a limit on the share of admitted pairs
that break it; a margin is learned on programs that the model has not seen, just large enough for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hindmost.colocation.models import Index, Model
from hindmost.colocation.profiles import Array, Profiles
from hindmost.colocation.skill import pairs_of

Answer = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Admission:
    """A model and what has to be added to its predictions.

    Attributes
    ----------
    model : Model
        Fitted on all known programs.
    limit : float
        Of the share lost.
    margin : float
        Admitted is what is predicted to lose less than ``limit - margin``; infinite where nothing may be.
    against : float
        What is predicted to lose more than ``limit + against`` does, as surely.
    """

    model: Model
    limit: float
    margin: float
    against: float

    def answer(self, predicted: float) -> Answer:
        """Yes, no, or that it cannot be told at this rate of violations."""
        if predicted <= self.limit - self.margin:
            return "yes"
        return "no" if predicted > self.limit + self.against else "unknown"

    def admits(self, predicted: Array) -> NDArrayBool:
        """Which are answered with yes."""
        return np.asarray(predicted <= self.limit - self.margin)


NDArrayBool = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def margin(predicted: Array, truth: Array, limit: float, rate: float, *, together: int = 1) -> float:
    """Find the least margin with which at most ``rate`` of those admitted lose more than ``limit``.

    Pairs are admitted in the order of their predictions; at each, violations count as those seen and
    ``together`` more (conformal risk control; Angelopoulos et al. 2024). Pairs of one victim break
    together: one more program, all of whose pairs break, is what has to be reckoned with.
    """
    order = np.argsort(predicted, kind="stable")
    broken = np.cumsum(truth[order] > limit)
    kept = (broken + together) / (np.arange(len(order)) + 1 + together) <= rate
    if not kept.any():
        return float("inf")
    return float(limit - predicted[order][np.flatnonzero(kept)[-1]])


def admission(
    make: Callable[[], Model],
    profiles: Profiles,
    programs: Index,
    lost: Array,
    *,
    limit: float,
    rate: float,
    folds: int = 7,
    seed: int = 1,
) -> Admission:
    """Learn from the pairs of known programs whom to admit.

    Parameters
    ----------
    make : callable
        Makes a model that has learned nothing.
    profiles : Profiles
    programs : array of int
        Those whose pairs are known.
    lost : array, programs x programs
    limit : float
        The share that may be lost.
    rate : float
        Of those admitted, how many may lose more.
    folds, seed : int
        Predictions for the margin are made with a fold of programs left out, on pairs with one of them.
    """
    order = np.random.default_rng(seed).permutation(programs)
    predicted, truth = [], []
    for part in np.array_split(order, folds):
        rest = np.setdiff1d(order, part)
        known = pairs_of(rest)
        model = make().fit(profiles, *known, lost[known])
        victims, companions = pairs_of(part)
        # Pairs of strangers, as those that will be asked about.
        predicted.append(model.predict(profiles, victims, companions))
        truth.append(lost[victims, companions])
    guesses, losses = np.concatenate(predicted), np.concatenate(truth)
    known = pairs_of(order)
    together = -(-len(order) // folds)
    against = margin(-guesses, -losses, -limit, rate, together=together)
    least = margin(guesses, losses, limit, rate, together=together)
    return Admission(make().fit(profiles, *known, lost[known]), limit, least, against)
