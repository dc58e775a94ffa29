"""Laws by kind of request: each chosen for itself, then seen together.

A law that is good for its kind alone can be wrong for the server: what is p95 of all requests may be the
middle of the slowest kind, where nobody looked. (The resizing of our image server, 15 % of its requests,
is a gamma law within what its p95 and p99 can tell; p95 of all requests was 2 to 4 % low.) So the laws
are put together and asked for the same latencies as all samples. Errors keep their signs here, and what
chance did to the parts that were held out goes out in their mean: what remains is the laws' own. Where it
is more than `BIAS`, that kind gets another of its candidates which mends most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hindmost.models.fit.bins import Floats
from hindmost.models.fit.laws.choice import FOLDS, SLIGHT, Candidate, Choice, Sample, choose, fold_of
from hindmost.models.fit.laws.replay import Replay
from hindmost.models.fit.reading import Log

LEAST_OF_KIND = 1_000
"""Requests of a kind below which it gets no law of its own."""

BIAS = 0.02
"""Share of any latency by which laws together may be off on their own account."""


@dataclass(frozen=True)
class Part:
    """Service times of one kind of request, or of all."""

    name: str
    share: float
    sample: Sample = field(repr=False)
    choice: Choice = field(repr=False)


def laws_by_kind(log: Log, us: Floats, whole: Sample) -> tuple[tuple[Part, ...], float | None]:
    """A law for each kind of request; none, where one of them is too rare for a law.

    Parameters
    ----------
    log : Log
        With kinds, or without.
    us : array of shape (n,)
        Service times in the order of the log, in microseconds.
    whole : Sample
        The same of all kinds.

    Returns
    -------
    parts : tuple of Part
        One a kind.
    error : float or None
        Mean absolute error of the latencies of all laws together, on what was held out, as a share.
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
        # A kind that comes in some parts of the log only is cut in blocks of its own.
        apart = np.bincount(block % FOLDS, minlength=FOLDS).min() < LEAST_OF_KIND // (2 * FOLDS)
        sample = Sample.of(us[own], None if apart else block)
        parts.append(Part(name, float(counts[number]) / log.n, sample, choose(sample)))
    together = Together(whole, tuple(part.share for part in parts))
    taken = mended(together, [part.choice for part in parts])
    mixed = tuple(
        replace(part, choice=replace(part.choice, taken=one)) for part, one in zip(parts, taken, strict=True)
    )
    return mixed, float(np.abs(together.errors(taken)).mean())


@dataclass(frozen=True)
class Together:
    """Laws of several kinds against the samples of all kinds that were held out.

    Parameters
    ----------
    whole : Sample
        Of all kinds.
    shares : tuple of float
        Of the requests, one a kind.
    replay : Replay
        Arrivals and uniform numbers of the comparison.
    """

    whole: Sample
    shares: tuple[float, ...]
    replay: Replay = field(default_factory=Replay)

    @cached_property
    def _held(self) -> list[tuple[float, Floats]]:
        """Mean and latencies of each fold's samples."""
        fold = fold_of(self.whole.ordered_block)
        held = [self.whole.ordered[fold == number] for number in range(FOLDS)]
        return [(float(one.mean()), self.replay.of_samples(one)) for one in held]

    def errors(self, taken: Sequence[Candidate]) -> Floats:
        """Logarithm of told over held-out latencies, shape ``(folds, loads, 3)``."""
        counts = np.diff(np.round(np.cumsum([0.0, *self.shares]) * self.replay.requests).astype(int))
        levels = [(np.arange(count) + 0.5) / count for count in counts]
        found = []
        for number, (mean, truth) in enumerate(self._held):
            times = [one.trained[number].quantile(at) for one, at in zip(taken, levels, strict=True)]
            told = self.replay.of_demands(np.sort(np.concatenate(times)), mean)
            found.append(np.log(told / truth))
        return np.array(found)

    def bias(self, taken: Sequence[Candidate]) -> Floats:
        """What remains of the errors in their mean over folds, shape ``(loads, 3)``, without sign."""
        return np.asarray(np.abs(self.errors(taken).mean(axis=0)))


def mended(together: Together, choices: Sequence[Choice]) -> list[Candidate]:
    """The laws taken, or others of their kinds' candidates where those together are off by more than `BIAS`.

    One law at a time, the one that mends most, as long as that is worth it; never one that lacks its tail.
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
