"""Error rates of the tests and intervals of a diagnosis, where the truth is known.

``python tests/stats/experiment_worlds.py --trials 2000`` prints the table of docs/studies/coverage.md. A host's level
drifts from pair to pair and affects both windows of a pair; the difference between them is normal or skewed.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hindmost.stats.causes import Effect, Normal, decide, effect_of, reproduction_of, signature_of
from hindmost.stats.causes.ranking import rank_metrics

PAIRS = 10
ANOMALY = math.log(3)
METRICS = 6
BLOCKS = 24
Rng = np.random.Generator


def pairs(rng: Rng, log_ratio: float, *, skewed: bool = False, n: int = PAIRS) -> Effect:
    """Switch-backs of a suspect with a given effect, on a host that drifts."""
    drift = np.cumsum(rng.normal(size=n) * 0.2)

    def noise() -> NDArray[np.float64]:
        return (rng.exponential(size=n) - 1.0) * 0.15 if skewed else rng.normal(size=n) * 0.1

    return effect_of(np.exp(drift + log_ratio + noise()), np.exp(drift + noise()))


def flips(rng: Rng, *, skewed: bool) -> bool:
    """The sign-flip test finds an effect where there is none, at 5 %."""
    return pairs(rng, 0.0, skewed=skewed).p <= 0.05


def misses(rng: Rng, *, skewed: bool) -> bool:
    """The two-sided 95 % interval misses an effect."""
    effect = pairs(rng, 0.7, skewed=skewed)
    return not effect.bound(0.025) <= 0.7 <= effect.bound(0.975)


def void(rng: Rng) -> bool:
    """A sham shows an effect, at 1 % over three stages."""
    return decide({}, pairs(rng, 0.0), ANOMALY).ruling == "void"


def names_innocent(rng: Rng) -> bool:
    """One of three innocent suspects is named, with the cause removed from the list, at 2 % over three stages."""
    innocents = {str(number): pairs(rng, 0.0) for number in range(3)}
    return decide(innocents, pairs(rng, 0.0), ANOMALY).ruling == "cause"


def reproduces_innocent(rng: Rng) -> bool:
    """One of three innocent suspects is said to slow a replica as much, at 2 % over three stages."""
    doses = {str(number): pairs(rng, 0.0) for number in range(3)}
    with_us = {name: 100.0 * math.exp(dose.log) for name, dose in doses.items()}
    reproduction = reproduction_of(doses, with_us, pairs(rng, 0.0), (300.0, 100.0), 100.0)
    return reproduction.outcome == "reproduced"


def likeness(rng: Rng, remaining: float) -> bool | None:
    """Whether a suspect that leaves a share of the shift of three metrics has the anomaly's signature."""
    shift = np.where(np.arange(METRICS) < METRICS // 2, 2.5, 0.0)

    def rows(log: NDArray[np.float64], n: int, spread: float) -> NDArray[np.float64]:
        return np.asarray(1_000.0 * np.exp(log + rng.normal(0.0, spread, (n, METRICS))))

    present, without = rows(shift, PAIRS, 0.3), rows(remaining * shift, PAIRS, 0.3)
    normal = Normal(tuple(map(str, range(METRICS))), rows(0.0 * shift, BLOCKS, 0.1))
    return signature_of(normal, present, present, without, paired=True).fits


def ranks_unrelated_metric(rng: Rng) -> bool:
    """A metric unrelated to the latency seems to move with it, at 5 %; both are autocorrelated (0.8 per block)."""
    from scipy.signal import lfilter

    latency, metric = (lfilter([1.0], [1.0, -0.8], rng.normal(size=120)) for _ in range(2))
    (metric_rank,) = rank_metrics(np.exp(latency), {"psi.cpu_some_us": metric})
    return metric_rank.p <= 0.05


ROWS: dict[str, tuple[float, float, Callable[[Rng], bool]]] = {
    "sign-flip test, no effect": (0.05, 0.05, lambda rng: flips(rng, skewed=False)),
    "sign-flip test, no effect, skewed": (0.05, 0.05, lambda rng: flips(rng, skewed=True)),
    "interval of an effect misses it": (0.05, 0.05, lambda rng: misses(rng, skewed=False)),
    "interval of an effect misses it, skewed": (0.05, 0.09, lambda rng: misses(rng, skewed=True)),
    "a sham fires": (0.01, 0.01, void),
    "an innocent is named, the cause struck": (0.02, 0.02, names_innocent),
    "an innocent is reproduced on a replica": (0.02, 0.02, reproduces_innocent),
    "the cause has another signature": (0.02, 0.02, lambda rng: likeness(rng, 0.0) is False),
    "who leaves 60 % has the signature": (0.02, 0.03, lambda rng: likeness(rng, 0.6) is True),
    "an unrelated metric moved with it": (0.05, 0.12, ranks_unrelated_metric),
}
"""Error, nominal rate, tolerated rate, and whether the error happened in one trial."""


def rate(name: str, trials: int, seed: int = 11) -> float:
    """Rate of the error."""
    rng = np.random.default_rng(seed)
    return sum(ROWS[name][2](rng) for _ in range(trials)) / trials


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=2_000)
    options = parser.parse_args()
    sys.stdout.write("| error | asked for | seen |\n| --- | --- | --- |\n")
    for name, (nominal, _, _) in ROWS.items():
        sys.stdout.write(f"| {name} | {nominal:g} | {rate(name, options.trials):.4f} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
