"""May this job run next to that server: a promise at a rate of violations that the user chooses.

A point prediction is as often too low as too high. What is promised is a limit on the share of admitted pairs
that break it; a margin is learned on programs that the model has not seen, just large enough for that, with
one more program to reckon with. So few programs cannot promise a low rate, whatever the model, and that is
said. The share is a mean over questions, those of which nothing was admitted included (a false discovery
rate; Benjamini and Hochberg 1995).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from hindmost.colocation.models import Index, Model
from hindmost.colocation.profiles import Array, Profiles
from hindmost.colocation.skill import known_of, pairs_of

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
    least_rate : float
        The least rate of violations that these programs could promise at this limit.
    """

    model: Model
    limit: float
    margin: float
    against: float
    least_rate: float

    def answer(self, predicted: float) -> Answer:
        """Yes, no, or that it cannot be told at this rate of violations."""
        if predicted <= self.limit - self.margin:
            return "yes"
        return "no" if predicted > self.limit + self.against else "unknown"

    def admits(self, predicted: Array) -> NDArrayBool:
        """Which are answered with yes."""
        return np.asarray(predicted <= self.limit - self.margin)


NDArrayBool = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Predictions for pairs of programs that the model had not seen, and what came of them.

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
        """Predictions in rising order, and the rate that admitting all up to each can promise.

        Pairs of one program break together, so the unit is the program: violations count as those seen and
        those of one more program, all of whose pairs break, with as many as any has among the admitted.
        """
        order = np.argsort(self.predicted, kind="stable")
        broken = np.cumsum(self.truth[order] > limit)
        programs = np.union1d(self.victims, self.companions)
        among = (self.victims[order, None] == programs) | (self.companions[order, None] == programs)
        more = np.cumsum(among, axis=0).max(axis=1)
        return self.predicted[order], (broken + more) / (np.arange(len(order)) + 1 + more)

    def margin(self, limit: float, rate: float) -> float:
        """Find the least margin below ``limit`` that promises ``rate``; infinite where none does."""
        predicted, rates = self.rates(limit)
        # Those with equal predictions are admitted together.
        ends = np.append(predicted[1:] > predicted[:-1], True)
        fine = np.flatnonzero((rates <= rate) & ends)
        return float(limit - predicted[fine[-1]]) if fine.size else float("inf")

    def mirrored(self) -> HeldOut:
        """The same with all signs turned: who surely breaks the limit."""
        return HeldOut(-self.predicted, -self.truth, self.victims, self.companions)


def held_out(
    make: Callable[[], Model],
    profiles: Profiles,
    programs: Index,
    lost: Array,
    *,
    folds: int = 7,
    seed: int = 1,
) -> HeldOut:
    """Predict every pair of programs of two folds by a model that saw neither fold: pairs of strangers.

    Such a model knows fewer programs than the one that is asked later, and as a rule errs more.
    """
    parts = np.array_split(np.random.default_rng(seed).permutation(programs), folds)
    found: list[tuple[Array, Array, Index, Index]] = []
    for one, other in combinations([part for part in parts if part.size], 2):
        known = known_of(pairs_of(np.setdiff1d(programs, np.concatenate([one, other]))), lost)
        model = make().fit(profiles, *known, lost[known])
        for first, second in ((one, other), (other, one)):
            victims, companions = known_of(pairs_of(first, second), lost)
            predicted = model.predict(profiles, victims, companions)
            found.append((predicted, lost[victims, companions], victims, companions))
    return HeldOut(*(np.concatenate(column) for column in zip(*found, strict=True)))


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
        NaN where a pair's is not known.
    limit : float
        The share that may be lost.
    rate : float
        Of those admitted, how many may lose more.
    folds, seed : int
        Predictions for the margin are made with two folds of programs left out, on pairs between them.
    """
    strangers = held_out(make, profiles, programs, lost, folds=folds, seed=seed)
    known = known_of(pairs_of(programs), lost)
    return Admission(
        make().fit(profiles, *known, lost[known]),
        limit,
        strangers.margin(limit, rate),
        strangers.mirrored().margin(-limit, rate),
        float(strangers.rates(limit)[1].min()),
    )
