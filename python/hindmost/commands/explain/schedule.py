"""How the budget is spent: which runs come next, computed from the finished runs. Pure functions.

::

    try        present state and every candidate, one run each; the worst are dropped after each round
    combine    the best candidate, and all that help together (if several help and can be combined)
    confirm    present state and the chosen changes: fresh pairs, with looks after 7, 11 and 16 pairs
    confirm-2  if these do not help at a look: the next best candidate, with the looks that are left

Only the fresh pairs support a claim, because a candidate chosen for its results looks better than it is. All
looks share the error of 5 % (Bonferroni), so that a confirmation may end at any of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LOOKS = (7, 11, 16)
"""Pairs after which a confirmation may end. Seven is the least that can decide at a third of 5 %."""
CONFIDENCE = 1.0 - 0.05 / len(LOOKS)
LEAST_TRIES, MOST_TRIES, COMBINING = 2, 6, 3
"""Rounds of the first stage (smallest and largest number), and of the second."""
LEAST_RUNS = LEAST_TRIES * 4 + 2 * LOOKS[0]
"""Runs that confirm one of three candidates."""
POWER = 2.394 + 0.842
"""Normal quantiles of 0.05 / 3, two-sided, and of a power of 80 %."""
GUESSED = 1.3
"""Safety factor on the estimated duration of a run before the first run."""
PROMISING = math.log(0.97)
"""Log ratio of a candidate that may help by 3 %."""
LATE_US = 1e9
"""Finite stand-in for an infinitely late figure, larger than any real one, µs."""

Rounds = Mapping[int, Mapping[int, float]]
"""The figure to be lowered, of one stage, by side (0: the present state, or the best) and round."""


@dataclass(frozen=True, slots=True)
class Next:
    """The next round of a stage: the sides that need a run."""

    stage: str
    round: int
    sides: tuple[int, ...]


def log_ratios(rounds: Rounds, side: int, other: int = 0) -> list[float]:
    """Return the logarithms of the ratios of one side to another, by round."""
    both = sorted(rounds.get(side, {}).keys() & rounds.get(other, {}).keys())
    return [math.log(_finite(rounds[side][n]) / _finite(rounds[other][n])) for n in both]


def _finite(us: float) -> float:
    return us if 0.0 < us < LATE_US else LATE_US


def survivors(rounds: Rounds, candidates: int) -> tuple[list[int], int]:
    """Return the candidates that are still tried, best first, and the number of complete rounds.

    After a round, a candidate is dropped if it looks worse than the best by more than two standard errors, or
    if it does not look better than the present state. The best always stays.

    >>> rounds = {0: {1: 100.0, 2: 100.0}, 1: {1: 50.0, 2: 52.0}, 2: {1: 120.0, 2: 130.0}}
    >>> survivors(rounds, 2)
    ([1], 2)
    """
    active = list(range(1, candidates + 1))
    number = 0
    while all(number + 1 in rounds.get(side, {}) for side in (0, *active)):
        number += 1
        if number < LEAST_TRIES:
            continue
        logs = {side: log_ratios(rounds, side)[:number] for side in active}
        means = {side: float(np.mean(one)) for side, one in logs.items()}
        error = _scatter(list(logs.values())) / math.sqrt(number)
        best = min(active, key=lambda side: means[side])
        active = [
            side
            for side in active
            if side == best or (means[side] - error < PROMISING and means[side] - means[best] < 2.0 * error)
        ]
        active.sort(key=lambda side: means[side])
    return active, number


def _scatter(logs: Sequence[Sequence[float]]) -> float:
    """Return the standard deviation of log ratios, pooled over all candidates."""
    squares = sum(float(np.var(one)) * len(one) for one in logs)
    degrees = sum(len(one) - 1 for one in logs)
    return math.sqrt(squares / degrees) if degrees > 0 else 0.0


def count_affordable(candidates: int, runs: float) -> int:
    """Return how many candidates the given number of runs can try, with enough left to confirm one."""
    spare = runs / GUESSED - 2 * LOOKS[0]
    return max(1 if candidates else 0, min(candidates, int(spare / LEAST_TRIES) - 1))


def next_try(rounds: Rounds, candidates: int, runs_left: float) -> Next | None:
    """Return the next round of the first stage; None if it is over.

    Parameters
    ----------
    rounds
        Runs of this stage so far.
    candidates
        Number of candidates tried in all.
    runs_left
        Number of runs that the budget still allows.
    """
    active, number = survivors(rounds, candidates)
    coming = (0, *active)
    has_started = any(number + 1 in rounds.get(side, {}) for side in coming)
    enough = number >= (LEAST_TRIES + 1 if len(active) == 1 else MOST_TRIES) or candidates == 0
    alone = candidates == 1  # there is nothing to choose from
    if not has_started and (enough or alone or runs_left - len(coming) < 2 * LOOKS[0]):
        return None
    return Next("try", number + 1, coming)


def next_combining(rounds: Rounds, runs_left: float) -> Next | None:
    """Return the next round of the best candidate against the combination; None if it is over."""
    number = len(rounds.get(0, {}).keys() & rounds.get(1, {}).keys())
    has_started = number + 1 in rounds.get(0, {}) or number + 1 in rounds.get(1, {})
    if not has_started and (number >= COMBINING or runs_left - 2 < 2 * LOOKS[0]):
        return None
    return Next("combine", number + 1, (0, 1))


def count_pairs(rounds: Rounds) -> int:
    """Return the number of complete pairs of a confirmation."""
    return len(rounds.get(0, {}).keys() & rounds.get(1, {}).keys())


def count_looks(pairs: int) -> int:
    """Return how many looks a confirmation with this many pairs has had."""
    return sum(pairs >= look for look in LOOKS)


def is_hopeless(rounds: Rounds) -> bool:
    """Whether the changes do not help in half of the pairs, at a look."""
    return count_pairs(rounds) in LOOKS and float(np.median(log_ratios(rounds, 1))) >= 0.0


def next_confirming(
    rounds: Rounds, runs_left: float, decided: bool, stage: str = "confirm", looks: Sequence[int] = LOOKS
) -> Next | None:
    """Return the next pair of a confirmation; None if it is decided, hopeless or out of budget.

    Parameters
    ----------
    decided
        Whether the pairs so far decide; used at a look only.
    looks
        Pairs after which this confirmation may end: those that earlier ones have left.
    """
    number = count_pairs(rounds)
    has_started = number + 1 in rounds.get(0, {}) or number + 1 in rounds.get(1, {})
    if not has_started:
        has_ended = number in looks and (decided or is_hopeless(rounds))
        if number >= looks[-1] or runs_left < 2 or has_ended:
            return None
    return Next(stage, number + 1, (0, 1))


def next_choice(
    rounds: Rounds, candidates: int, confirmed: Sequence[Sequence[int]], looks_left: int, runs_left: float
) -> int | None:
    """Return the candidate to confirm after one that was hopeless; None if none is left, or no look or run.

    Parameters
    ----------
    rounds, candidates
        Rounds and candidates of the first stage.
    confirmed
        Groups of candidates whose confirmation was hopeless.
    """
    if looks_left < 1 or runs_left < 2 * LOOKS[0]:
        return None
    active, _ = survivors(rounds, candidates)
    return next((place for place in active if [place] not in [list(group) for group in confirmed]), None)


def pairs_to_decide(scatter: float, ratio: float) -> float:
    """Return about how many pairs detect a ratio in 80 of 100 studies, with three looks."""
    return max(LOOKS[0], (POWER * scatter / abs(math.log(ratio))) ** 2)


def pairs_affordable(runs: float) -> int:
    """Return how many pairs are left to confirm a change after two rounds of three candidates.

    >>> pairs_affordable(60.0), pairs_affordable(20.0)
    (16, 6)
    """
    return min(LOOKS[-1], int((runs - LEAST_TRIES * 4) / 2))


def scatter_allowed(pairs: int, ratio: float) -> float:
    """Return the scatter of log ratios at which this many pairs detect a ratio in 80 of 100 studies."""
    return abs(math.log(ratio)) * math.sqrt(pairs) / POWER


def ratio_decided(scatter: float, pairs: int) -> float:
    """Return the ratio (below 1) that this many pairs detect in 80 of 100 studies."""
    return math.exp(-POWER * scatter / math.sqrt(max(1, pairs)))
