"""Laws by kind of request: each chosen separately, then checked together.

A law that is good for its kind alone can be wrong for the server, because the p95 of all requests may lie in
the middle of the slowest kind, which no error measured. (The resizing of our image server, 15 % of its
requests, is a gamma law within the accuracy of its p95 and p99; the p95 of all requests was 2 to 4 % low.) So
the laws are combined and must predict the same latencies as all samples. Errors keep their signs here, so the
random errors of the held-out parts cancel in their mean, and the bias of the laws remains. If it exceeds
`BIAS`, that kind gets the other candidate that reduces it most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.laws.choice import (
    FOLDS,
    SLIGHT,
    Candidate,
    Choice,
    Sample,
    choose_law,
    fold_of,
)
from hindmost.commands.clone.fit.laws.replay import Replay
from hindmost.commands.clone.fit.reading import Log

LEAST_OF_KIND = 1_000
"""Fewest requests for which a kind gets its own law."""

BIAS = 0.02
"""Largest accepted bias of any latency of the combined laws."""


@dataclass(frozen=True)
class Part:
    """Service times of one kind of request, or of all requests, and their law."""

    name: str
    share: float
    sample: Sample = field(repr=False)
    choice: Choice = field(repr=False)


def laws_by_kind(log: Log, us: Floats, whole: Sample) -> tuple[tuple[Part, ...], float | None]:
    """Choose a law for each kind of request; none if one kind is too rare.

    Parameters
    ----------
    log : Log
        A log with or without kinds.
    us : array of shape (n,)
        Service times in the order of the log, in microseconds.
    whole : Sample
        The same times of all kinds.

    Returns
    -------
    parts : tuple of Part
        One per kind.
    error : float or None
        Mean absolute latency error of the combined laws on held-out samples, as a share.
    """
    if log.kind is None:
        return (), None
    counts = np.bincount(log.kind, minlength=len(log.kinds))
    if counts.min() < LEAST_OF_KIND:
        return (), None
    parts = []
    for number, name in enumerate(log.kinds):
        own = log.kind == number
        block = whole.block[own]
        # A kind that occurs only in some parts of the log gets its own blocks.
        apart = np.bincount(block % FOLDS, minlength=FOLDS).min() < LEAST_OF_KIND // (2 * FOLDS)
        sample = Sample.from_times(us[own], None if apart else block)
        parts.append(Part(name, float(counts[number]) / log.n, sample, choose_law(sample)))
    together = Together(whole, tuple(part.share for part in parts))
    taken = reduce_bias(together, [part.choice for part in parts])
    mixed = tuple(
        replace(part, choice=replace(part.choice, taken=one)) for part, one in zip(parts, taken, strict=True)
    )
    return mixed, float(np.abs(together.errors(taken)).mean())


@dataclass(frozen=True)
class Together:
    """Comparison of the combined laws of several kinds with held-out samples of all kinds.

    Parameters
    ----------
    whole : Sample
        Samples of all kinds.
    shares : tuple of float
        Share of each kind among the requests.
    replay : Replay
        Arrivals and uniform numbers for the comparison.
    """

    whole: Sample
    shares: tuple[float, ...]
    replay: Replay = field(default_factory=Replay)

    @cached_property
    def _held(self) -> list[tuple[float, Floats]]:
        """Mean and latencies of the samples of each fold."""
        fold = fold_of(self.whole.ordered_block)
        held = [self.whole.ordered[fold == number] for number in range(FOLDS)]
        return [(float(one.mean()), self.replay.of_samples(one)) for one in held]

    def errors(self, taken: Sequence[Candidate]) -> Floats:
        """Return the logarithm of predicted over held-out latencies, ``(folds, loads, 3)``."""
        counts = np.diff(np.round(np.cumsum([0.0, *self.shares]) * self.replay.requests).astype(int))
        levels = [(np.arange(count) + 0.5) / count for count in counts]
        found = []
        for number, (mean, truth) in enumerate(self._held):
            times = [one.trained[number].quantile(at) for one, at in zip(taken, levels, strict=True)]
            told = self.replay.of_demands(np.sort(np.concatenate(times)), mean)
            found.append(np.log(told / truth))
        return np.array(found)

    def bias(self, taken: Sequence[Candidate]) -> Floats:
        """Return the absolute value of the mean error over folds, of shape ``(loads, 3)``."""
        return np.asarray(np.abs(self.errors(taken).mean(axis=0)))


def reduce_bias(together: Together, choices: Sequence[Choice]) -> list[Candidate]:
    """Replace chosen laws by other candidates while the combined bias exceeds `BIAS`.

    Each step replaces the law that reduces the bias most, as long as it helps; the new law must fit its tail.
    """
    taken = [one.taken for one in choices]
    now = together.bias(taken)
    while now.max() > BIAS:
        others = [
            [*taken[:place], other, *taken[place + 1 :]]
            for place, choice in enumerate(choices)
            for other in choice.candidates
            if other.misfit is None and other is not taken[place]
        ]
        tried = [(together.bias(one), one) for one in others]
        best = min(tried, key=lambda one: float(one[0].mean()), default=None)
        if best is None or now.mean() - best[0].mean() < SLIGHT:
            break
        now, taken = best
    return taken
