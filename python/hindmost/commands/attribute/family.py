"""P-values adjusted over all effects of a study: all terms, quantiles and loads together.

Joint draws of all coefficients of a load (Romano and Wolf's step-down) use the correlation between
coefficients and quantiles of the same runs. If they cannot be drawn, Holm's procedure needs only the
p-values. A screening looks for factors to study again, so it limits the share of false alarms (Benjamini and
Hochberg), on p-values by exchange of runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from hindmost.stats import (
    Effect,
    RunFit,
    coefficient_ps,
    false_discovery,
    holm_families,
    joint_draws,
    step_down,
)
from hindmost.stats.factors.coding import Coding

Adjustment = Literal["romano-wolf", "holm", "false-discovery"]
Key = tuple[str, str]
"""Load and quantile."""
DRAWS = 4_000
EXCHANGES = 999


def exchange_ps(fits: Mapping[Key, RunFit], hard_to_change: Sequence[str] = ()) -> dict[Key, list[float]]:
    """Return the p-value of every average effect except intercepts, by exchanging runs within blocks."""
    return {
        key: [p for _, p in coefficient_ps(fit, "average", EXCHANGES, hard_to_change=hard_to_change)]
        for key, fit in fits.items()
    }


def adjust_ps(
    fits: Mapping[Key, RunFit],
    effects: Mapping[Key, Sequence[Effect]],
    coding: Coding,
    by_exchange: Mapping[Key, Sequence[float]],
    *,
    screening: bool,
) -> tuple[Adjustment, dict[Key, list[float]]]:
    """Adjust the p-values of all effects except intercepts, over all of them."""
    terms = {key: [one for one in effects[key] if one.term] for key in fits}
    if screening:
        flat = false_discovery([p for key in terms for p in by_exchange[key]])
        return "false-discovery", _split_by_key(flat, terms)
    drawn = _draw_jointly(fits, coding)
    if drawn is not None:
        flat = step_down([one.value / one.error for of in terms.values() for one in of], drawn)
        return "romano-wolf", _split_by_key(flat, terms)
    lists = holm_families([[one.p for one in of] for of in terms.values()])
    return "holm", dict(zip(terms, lists, strict=True))


def _draw_jointly(fits: Mapping[Key, RunFit], coding: Coding) -> np.ndarray | None:
    """Draw all coefficients jointly; None if a load's quantiles come from different runs, or errors are 0."""
    columns = []
    for seed, load in enumerate(dict.fromkeys(load for load, _ in fits), start=1):
        of_load = [fit for (name, _), fit in fits.items() if name == load]
        try:
            columns.append(joint_draws(of_load, (coding,), DRAWS, seed))
        except ValueError:
            return None
    whole = np.hstack(columns) if columns else np.zeros((0, 0))
    return whole if whole.size and np.isfinite(whole).all() else None


def _split_by_key(flat: Sequence[float], terms: Mapping[Key, Sequence[Effect]]) -> dict[Key, list[float]]:
    values = iter(flat)
    return {key: [next(values) for _ in of] for key, of in terms.items()}
