"""Interactions that change a sign: factors that help at one level of another factor and hurt at the other.

Treadmill's example (ISCA 2016, V-B): spreading interrupts over all nodes raises memcached's p99 by 29 us
under one frequency governor and lowers it by 37 us under the other. A large interaction alone does not show
this: it may only make an improvement smaller. A change of sign is shown if both effects exclude 0 with
opposite signs (intersection-union: the larger of two p-values), adjusted over all pairs of factors (Holm).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from hindmost.stats.factors.coding import Term
from hindmost.stats.factors.effects import Effect, RunFit
from hindmost.stats.factors.families import holm


@dataclass(frozen=True, slots=True)
class Crossing:
    """Effects of a factor's `level` at each level of another factor, averaged over all other factors.

    ``effects``: one for each level of `by`. ``lowers_at``, ``raises_at``: the levels of `by` with the
    smallest and the largest effect. ``p``: of no change of sign; ``adjusted``: for all examined pairs.
    """

    factor: str
    level: int
    by: str
    effects: tuple[Effect, ...]
    lowers_at: int
    raises_at: int
    p: float
    adjusted: float

    @property
    def shown(self) -> bool:
        """Whether both signs are significant at 5 %, for all pairs together."""
        return self.adjusted < 0.05


def find_crossings(fit: RunFit) -> list[Crossing]:
    """Return pairs of factors whose estimated effect has both signs, the most significant first.

    Only pairs with an interaction in the model qualify. Without it, the effect is the same at all levels.

    Examples
    --------
    >>> from hindmost.stats import Factorial, fit_runs
    >>> runs = {(0, 0): [60.0, 61.0, 62.0], (0, 1): [70.0, 71.0, 72.0],
    ...         (1, 0): [90.0, 91.0, 92.0], (1, 1): [33.0, 34.0, 35.0]}
    >>> found = find_crossings(fit_runs(runs, Factorial(["nic", "dvfs"])))
    >>> [(one.factor, one.by, [round(effect.value) for effect in one.effects], one.shown) for one in found]
    [('nic', 'dvfs', [30, -37], True), ('dvfs', 'nic', [10, -57], True)]
    """
    design = fit.design
    count = dict(zip(design.factors, design.levels, strict=True))
    examined: list[tuple[str, int, str, tuple[Effect, ...], float]] = []
    for factor, by in itertools.permutations(design.factors, 2):
        if _together(design.terms, factor, by):
            for level in range(1, count[factor]):
                effects = tuple(fit.simple_effect(factor, {by: at}, level) for at in range(count[by]))
                examined.append((factor, level, by, effects, _p_of_both_signs(effects)))
    adjusted = holm([p for *_, p in examined])
    out = [
        Crossing(
            factor,
            level,
            by,
            effects,
            int(np.argmin([e.value for e in effects])),
            int(np.argmax([e.value for e in effects])),
            p,
            q,
        )
        for (factor, level, by, effects, p), q in zip(examined, adjusted, strict=True)
        if min(e.value for e in effects) < 0.0 < max(e.value for e in effects)
    ]
    return sorted(out, key=lambda one: one.p)


def _together(terms: tuple[Term, ...], factor: str, by: str) -> bool:
    return any({factor, by} <= set(term) for term in terms)


def _p_of_both_signs(effects: tuple[Effect, ...]) -> float:
    """Return p of both signs: one-sided at each end, with Bonferroni's correction for the choice of ends."""
    below = [e.p / 2.0 for e in effects if e.value < 0.0]
    above = [e.p / 2.0 for e in effects if e.value > 0.0]
    if not (below and above):
        return 1.0
    # Two-sided overall, because it was unknown in advance which end is the lower one.
    tries = max(1, len(effects) - 1)
    return min(1.0, 2.0 * tries * max(min(below), min(above)))
