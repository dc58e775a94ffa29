"""Admission of jobs next to a server, at a rate of violations that the user chooses.

A point prediction is as often too low as too high. The promise limits the share of admitted pairs that lose
more than allowed. A margin is learned on programs that the model has not seen, and is just large enough for
that with one more program counted as failing. A few programs cannot promise a low rate, whatever the model,
and the answer says so. The share is a mean over questions, including those that admitted nothing (a false
discovery rate; Benjamini and Hochberg 1995).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from hindmost.commands.colocate.prediction.models import Index, Model
from hindmost.commands.colocate.prediction.profiles import Array, Profiles
from hindmost.commands.colocate.prediction.skill import keep_known, pairs_of

Answer = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Admission:
    """A model, and the margin to add to its predictions.

    Attributes
    ----------
    model : Model
        Fitted on all known programs.
    limit : float
        Largest share that may be lost.
    margin : float
        A pair is admitted if its predicted loss is below ``limit - margin``; infinite if none can be
        admitted.
    against : float
        A pair with a predicted loss above ``limit + against`` loses more than the limit, with the same
        certainty.
    least_rate : float
        The smallest rate of violations that these programs can promise at this limit.
    """

    model: Model
    limit: float
    margin: float
    against: float
    least_rate: float

    def answer(self, predicted: float) -> Answer:
        """Return yes, no, or unknown at this rate of violations."""
        if predicted <= self.limit - self.margin:
            return "yes"
        return "no" if predicted > self.limit + self.against else "unknown"

    def admits(self, predicted: Array) -> NDArrayBool:
        """Return which pairs are admitted."""
        return np.asarray(predicted <= self.limit - self.margin)


NDArrayBool = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Predictions for pairs of programs that the model had not seen, with the true losses.

    Attributes
    ----------
    predicted, truth : array, pairs
    victims, companions : array of int, pairs
    """

    predicted: Array
    truth: Array
    victims: Index
    companions: Index

    def rates(self, limit: float) -> tuple[Array, Array]:
        """Return predictions in rising order, and the rate that admitting all up to each can promise.

        Pairs of one program fail together, so the unit is the program. Violations are the known ones plus
        those of one more program, all of whose pairs fail, with as many pairs as any program has among the
        admitted.
        """
        order = np.argsort(self.predicted, kind="stable")
        broken = np.cumsum(self.truth[order] > limit)
        programs = np.union1d(self.victims, self.companions)
        among = (self.victims[order, None] == programs) | (self.companions[order, None] == programs)
        more = np.cumsum(among, axis=0).max(axis=1)
        return self.predicted[order], (broken + more) / (np.arange(len(order)) + 1 + more)

    def margin(self, limit: float, rate: float) -> float:
        """Return the smallest margin below ``limit`` that promises ``rate``; infinite if none does."""
        predicted, rates = self.rates(limit)
        # Pairs with equal predictions are admitted together.
        ends = np.append(predicted[1:] > predicted[:-1], True)
        fine = np.flatnonzero((rates <= rate) & ends)
        return float(limit - predicted[fine[-1]]) if fine.size else float("inf")

    def mirror(self) -> HeldOut:
        """Return the same with all signs reversed, to learn which pairs certainly exceed the limit."""
        return HeldOut(-self.predicted, -self.truth, self.victims, self.companions)


def predict_held_out(
    make: Callable[[], Model],
    profiles: Profiles,
    programs: Index,
    lost: Array,
    *,
    folds: int = 7,
    seed: int = 1,
) -> HeldOut:
    """Predict every pair between two folds of programs with a model that has seen neither fold.

    Such a model knows fewer programs than the final one, and usually errs more.
    """
    parts = np.array_split(np.random.default_rng(seed).permutation(programs), folds)
    found: list[tuple[Array, Array, Index, Index]] = []
    for one, other in combinations([part for part in parts if part.size], 2):
        known = keep_known(pairs_of(np.setdiff1d(programs, np.concatenate([one, other]))), lost)
        model = make().fit(profiles, *known, lost[known])
        for first, second in ((one, other), (other, one)):
            victims, companions = keep_known(pairs_of(first, second), lost)
            predicted = model.predict(profiles, victims, companions)
            found.append((predicted, lost[victims, companions], victims, companions))
    return HeldOut(*(np.concatenate(column) for column in zip(*found, strict=True)))


def learn_admission(
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
    """Learn from the pairs of known programs which pairs to admit.

    Parameters
    ----------
    make : callable
        Makes an untrained model.
    profiles : Profiles
    programs : array of int
        Programs whose pairs are known.
    lost : array, programs x programs
        Share lost by each pair; NaN if unknown.
    limit : float
        The largest share that may be lost.
    rate : float
        Share of the admitted pairs that may lose more.
    folds, seed : int
        The margin comes from predictions for pairs between two folds of programs that are left out.
    """
    strangers = predict_held_out(make, profiles, programs, lost, folds=folds, seed=seed)
    known = keep_known(pairs_of(programs), lost)
    return Admission(
        make().fit(profiles, *known, lost[known]),
        limit,
        strangers.margin(limit, rate),
        strangers.mirror().margin(-limit, rate),
        float(strangers.rates(limit)[1].min()),
    )
