"""The choice of a law by the latency it predicts for held-out samples, not by its likelihood.

Likelihood favours the body, where most samples are, but latency depends on the tail and the mean (research
note, section 3.1). So each candidate is fitted to four fifths of the blocks of the log and scaled to their
mean. It then predicts mean, p95 and p99 of a queue at 20, 50 and 70 % load, which are compared with those of
the held-out fifth. Among candidates within one standard error of the best, the one with the fewest parameters
is chosen (the likeliest of those with equally many) [1]_. Candidates without the samples' tail are excluded:
a component of 0.1 % hardly changes the p99, but exists.

.. [1] L. Breiman et al., Classification and Regression Trees (1984), section 3.4.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.commands.clone.fit.bins import BinnedSamples, Floats, Grid, Ints
from hindmost.commands.clone.fit.laws.families import (
    Empirical,
    Gamma,
    Lognormal,
    Mixture,
    Model,
    mean_matched,
)
from hindmost.commands.clone.fit.laws.mixture import fit_lognormals, improve, likelihood
from hindmost.commands.clone.fit.laws.replay import Replay
from hindmost.commands.clone.fit.laws.tail import Misfit, add_pareto_tails, misfit

FOLDS = 5
BLOCKS = 50
"""Blocks in time; each fold holds out every fifth block, so that all folds contain the drift."""

EVIDENCE = 3.0
"""Log likelihood ratio that a gamma law needs to be preferred to the usual lognormal."""

AS_MEASURED = "as measured"
"""Name of the candidate that consists of the samples themselves."""

SLIGHT = 0.005
"""Half a percent of a latency does not justify a parameter."""


@dataclass(frozen=True)
class Sample:
    """Service times in order, with the bins and sorted values that all candidates need."""

    us: Floats
    grid: Grid = field(repr=False)
    block: Ints = field(repr=False)
    ordered: Floats = field(repr=False)
    ordered_block: Ints = field(repr=False)

    @classmethod
    def from_times(cls, us: Floats, block: Ints | None = None) -> Sample:
        """Sort and bin times, and cut them into `BLOCKS` blocks unless blocks are given."""
        if block is None:
            block = np.arange(us.size) * BLOCKS // us.size
        order = np.argsort(us, kind="stable")
        return cls(us, Grid.from_samples(np.log(us)), block, us[order], block[order])

    @property
    def binned(self) -> BinnedSamples:
        """All samples in bins."""
        return self.grid.binned


@dataclass(frozen=True)
class Candidate:
    """One law fitted to all samples, and its errors on held-out samples.

    Parameters
    ----------
    name : str
        Name of the law.
    model : Model
        The law fitted to all samples, with their mean.
    likelihood : float
        Mean log density at the samples' logarithms; -inf without a density.
    errors : array of shape (folds, loads, 3)
        Logarithm of predicted over held-out mean, p95 and p99.
    misfit : Misfit or None
        Where its tail differs from that of the samples.
    trained : tuple of Model
        The law fitted to all folds but one, for each fold.
    """

    name: str
    model: Model
    likelihood: float
    errors: Floats
    misfit: Misfit | None
    trained: tuple[Model, ...] = field(repr=False)

    @property
    def by_fold(self) -> Floats:
        """Mean absolute error of each fold over loads and statistics."""
        return np.asarray(np.abs(self.errors).mean(axis=(1, 2)))

    @property
    def score(self) -> float:
        """Mean absolute error, as a share."""
        return float(self.by_fold.mean())


@dataclass(frozen=True)
class Choice:
    """The candidates, best score first, and the chosen one."""

    taken: Candidate
    candidates: tuple[Candidate, ...]

    @property
    def floor(self) -> float:
        """The error of the measured times themselves, by which parts of the log differ."""
        return next(one.score for one in self.candidates if one.name == AS_MEASURED)


def fold_of(block: Ints) -> Ints:
    """Return the fold in which a block is held out."""
    return np.asarray(block % FOLDS)


Refit = Callable[[BinnedSamples], Model]


def choose_law(sample: Sample, replay: Replay | None = None) -> Choice:
    """Fit all candidates and choose one.

    Parameters
    ----------
    sample : Sample
        At least a few hundred times.
    replay : Replay, optional
        Arrivals and uniform numbers for the comparison.
    """
    replay = replay or Replay()
    counts = sample.grid.counts(fold_of(sample.block), FOLDS)
    whole = sample.binned
    mean = float(sample.us.mean())
    ordered_fold = fold_of(sample.ordered_block)
    truths, trained = [], []
    for number in range(FOLDS):
        held = sample.ordered[ordered_fold == number]
        kept = sample.ordered[ordered_fold != number]
        truths.append((held, replay.of_samples(held)))
        trained.append((whole.part(whole.count - counts[number]), kept))

    def judged(name: str, model: Model, again: Refit | None) -> Candidate:
        errors, parts = [], []
        for (held, truth), (binned, kept) in zip(truths, trained, strict=True):
            part = mean_matched(again(binned) if again else Empirical.from_sorted(kept), float(kept.mean()))
            parts.append(part)
            errors.append(np.log(replay.of_model(part, float(held.mean())) / truth))
        fitted = mean_matched(model, mean)
        off = misfit(fitted, sample.ordered, sample.ordered_block)
        likely = likelihood(whole, fitted) if isinstance(fitted, Mixture) else -np.inf
        return Candidate(name, fitted, likely, np.array(errors), off, tuple(parts))

    candidates = [judged(name, model, again) for name, model, again in _parametric(whole)]
    candidates.append(judged(AS_MEASURED, Empirical.from_sorted(sample.ordered), None))
    return Choice(_choose(candidates, whole.n), tuple(sorted(candidates, key=lambda one: one.score)))


def _parametric(whole: BinnedSamples) -> list[tuple[str, Model, Refit]]:
    found: list[tuple[str, Model, Refit]] = [
        ("exponential", gamma(whole, 1), lambda binned: gamma(binned, 1)),
        ("gamma", gamma(whole), gamma),
    ]
    bodies = fit_lognormals(whole)
    for body in bodies:
        name = "lognormal" if len(body.laws) == 1 else f"{len(body.laws)} lognormals"
        found.append((name, body, _refit(body)))
    for body in bodies[:2]:
        tails = add_pareto_tails(whole, body)
        if tails:
            best = max(tails, key=lambda one: likelihood(whole, one))
            name = "lognormal" if len(body.laws) == 1 else f"{len(body.laws)} lognormals"
            found.append((f"{name} with Pareto tail", best, _refit(best)))
    return found


def _refit(model: Mixture) -> Refit:
    return lambda binned: improve(binned, model, rounds=60)


def gamma(binned: BinnedSamples, parameters: int = 2) -> Mixture:
    """Return the maximum-likelihood gamma law; with one parameter, the exponential law.

    Newton's method as in T. Minka, Estimating a Gamma distribution (2002).
    """
    mean = float(binned.count @ np.exp(binned.x)) / binned.n
    shape = 1.0
    if parameters == 2:
        gap = max(np.log(mean) - float(binned.count @ binned.x) / binned.n, 1e-9)
        shape = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
        for _ in range(8):
            value = np.log(shape) - special.digamma(shape) - gap
            slope = 1.0 / shape - special.polygamma(1, shape)
            shape = 1.0 / (1.0 / shape + value / (shape * shape * slope))
    return Mixture((1.0,), (Gamma(mean, float(np.clip(shape, 1e-2, 1e6)), parameters),))


def _choose(candidates: list[Candidate], n: float) -> Candidate:
    def simplest_first(one: Candidate) -> tuple[int, float]:
        unusual = isinstance(one.model, Mixture) and not isinstance(one.model.laws[0], Lognormal)
        return one.model.parameters, -one.likelihood + (EVIDENCE / n if unusual else 0.0)

    able = [one for one in candidates if one.misfit is None] or [candidates[-1]]
    best = min(able, key=lambda one: one.score)
    for one in sorted(able, key=simplest_first):
        worse = one.by_fold - best.by_fold
        error = float(worse.std(ddof=1)) / np.sqrt(FOLDS)
        if float(worse.mean()) <= max(error, SLIGHT):
            return one
    return best
