"""Quality of predictions: relative to the best baseline, on unseen programs, above the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.commands.colocate.prediction.models import Index, Model, baselines, models
from hindmost.commands.colocate.prediction.profiles import Array, Profiles


@dataclass(frozen=True, slots=True)
class Score:
    """One predictor over many splits.

    Attributes
    ----------
    name : str
    trivial : bool
        Whether it is a baseline.
    error : float
        Mean absolute error, as a share of the solo rate; the mean over splits.
    low, high : float
        Central 95 % of the splits.
    skill : float
        ``1 - error / error of the best baseline``, on pairs with a loss above the noise; 0 without such
        pairs.
    """

    name: str
    trivial: bool
    error: float
    low: float
    high: float
    skill: float


def pairs_of(victims: Index, companions: Index | None = None) -> tuple[Index, Index]:
    """Return all pairs of victim and companion; the victims are the companions by default."""
    first, second = np.meshgrid(victims, victims if companions is None else companions, indexing="ij")
    return first.ravel(), second.ravel()


def keep_known(pairs: tuple[Index, Index], lost: Array) -> tuple[Index, Index]:
    """Return the pairs whose loss is known; the windows of others were lost."""
    there = np.isfinite(lost[pairs])
    return pairs[0][there], pairs[1][there]


def scores(
    profiles: Profiles,
    lost: Array,
    *,
    splits: int = 100,
    seed: int = 1,
    noise: float = 0.0,
    candidates: Sequence[Model] | None = None,
) -> list[Score]:
    """Compare predictors over random halves of the programs: learn on one half, predict the other.

    Parameters
    ----------
    profiles : Profiles
    lost : array, programs x programs
        Share that each program (row) loses next to each (column); NaN if unknown.
    splits, seed : int
    noise : float
        Pairs that lose less than three times this share do not count for skill.
    candidates : sequence of Model, optional
        Models to compare; the paper's and ours by default.
    """
    rng = np.random.default_rng(seed)
    trivial = [one.name for one in baselines()]
    errors: dict[str, list[float]] = {}
    above_noise: dict[str, list[float]] = {}
    for _ in range(splits):
        order = rng.permutation(len(profiles.names))
        half = len(order) // 2
        known, unknown = (keep_known(pairs_of(part), lost) for part in (order[:half], order[half:]))
        truth = lost[unknown]
        counts = truth > 3 * noise
        for model in [*baselines(), *(models() if candidates is None else candidates)]:
            wrong = np.abs(model.fit(profiles, *known, lost[known]).predict(profiles, *unknown) - truth)
            errors.setdefault(model.name, []).append(float(wrong.mean()))
            above_noise.setdefault(model.name, []).append(
                float(wrong[counts].mean()) if counts.any() else np.nan
            )
    above = {
        name: float(np.nanmean(values)) if np.isfinite(values).any() else 0.0
        for name, values in above_noise.items()
    }
    best = min(above[name] for name in trivial)
    return [
        Score(
            name,
            name in trivial,
            float(np.mean(values)),
            float(np.quantile(values, 0.025)),
            float(np.quantile(values, 0.975)),
            1 - above[name] / best if best > 0 else 0.0,
        )
        for name, values in errors.items()
    ]
