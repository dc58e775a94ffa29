"""A cluster steered by predictions: the gain, and the broken promises.

The paper's layout (section 3.3.3): servers with six workers run one of several latency-sensitive programs and
may take batch instances, one next to each worker. There are four policies: none, random, steered by
predictions, and an oracle that knows the truth. Random admits as many instances as the steered policy, so
that their violations are comparable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hindmost.commands.colocate.prediction.profiles import Array
from reproduce.smite.arrivals import WORKERS, Arrivals, generate_arrivals


@dataclass(frozen=True, slots=True)
class Outcome:
    """One policy at one level of service.

    Attributes
    ----------
    gained : float
        Batch instances as a fraction of all workers.
    violated : float
        Fraction of the servers with a companion that miss their target.
    magnitude : float
        By how much they miss it, ``(target - actual) / target`` of the performance kept; the worst case. The
        paper
                calls both percentages violations.
    """

    policy: str
    target: float
    gained: float
    violated: float
    magnitude: float


def loss_of_tail(kept: Array, load: float) -> Array:
    """Convert the kept fraction of a rate to the kept fraction of a tail percentile, by Eq 3.6 (M/M/1).

    A percentile of latency grows by ``(1 - load) / (kept - load)``; the kept fraction is its inverse.
    """
    found: Array = np.clip(kept - load, 0, None) / (1 - load)
    return found


def steer(
    truth: Array,
    predicted: Array,
    targets: Array,
    *,
    servers: int = 4000,
    seed: int = 1,
    share: Callable[[Array], Array] = lambda kept: kept,
    arrivals: Arrivals | None = None,
) -> list[Outcome]:
    """Run all policies at all targets.

    Parameters
    ----------
    truth, predicted : array, latency-sensitive programs x batch programs
        Fraction of its rate that a worker loses to a companion on its core.
    targets : array
        Targets of the kept fraction, 0.95 for 95 %.
    servers, seed : int
        The same batch programs arrive under all policies.
    Function from the kept fraction of a rate to the quantity of the target; the identity for the mean,
            `loss_of_tail` for a tail.
    arrivals : Arrivals, optional
        Programs and offers; default: generated.

    Notes
    -----
    A server's service is the mean over its workers: each loses to the companion on its own core alone.
    Instances are offered one worker after the other and admitted while the mean is predicted to stay within
    the target.
    """
    rng = np.random.default_rng(seed)
    serving, batch = truth.shape
    met = generate_arrivals(servers, serving, batch, rng) if arrivals is None else arrivals
    order = rng.permutation(servers * WORKERS)
    order = order[met.there.ravel()[order]]
    at = (met.kinds[:, None], met.offers)
    real, guess = truth[at], predicted[at]
    found: list[Outcome] = []
    for target in targets:
        steered = _admit(guess, met.there, float(target), share)
        oracle = _admit(real, met.there, float(target), share)
        random = np.zeros(servers * WORKERS, dtype=bool)
        random[order[: int(steered.sum())]] = True
        policies = {
            "none": np.zeros_like(steered),
            "random": random.reshape(servers, WORKERS),
            "steered": steered,
            "oracle": oracle,
        }
        found += [_outcome(name, real, chosen, float(target), share) for name, chosen in policies.items()]
    return found


def _admit(lost: Array, there: np.ndarray, target: float, share: Callable[[Array], Array]) -> np.ndarray:
    chosen = np.zeros(lost.shape, dtype=bool)
    sum_lost = np.zeros(len(lost))
    for worker in range(lost.shape[1]):
        after = sum_lost + lost[:, worker]
        chosen[:, worker] = there[:, worker] & (share(1 - after / WORKERS) >= target - 1e-12)
        sum_lost = np.where(chosen[:, worker], after, sum_lost)
    return chosen


def _outcome(
    name: str, real: Array, chosen: np.ndarray, target: float, share: Callable[[Array], Array]
) -> Outcome:
    kept = share(1 - (real * chosen).sum(axis=1) / WORKERS)
    shared = chosen.any(axis=1)
    missed = shared & (kept < target - 1e-12)
    worst = float(((target - kept[missed]) / target).max()) if missed.any() else 0.0
    count = int(missed.sum()) / max(1, int(shared.sum()))
    return Outcome(name, target, float(chosen.mean()), count, worst)
