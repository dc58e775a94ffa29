"""Growth of a server's percentiles for a given slowdown, by several models of its queue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hindmost.commands.colocate.prediction.profiles import Array
from hindmost.commands.colocate.prediction.tail import LEAST_SERVICES, Queue, block_of, mm1, stretch_service
from hindmost.core.documents import read_text
from hindmost.core.store.types import Document
from hindmost.errors import UsageError, unreadable_file
from hindmost.stats.estimate import Estimate
from hindmost.stats.runs.intervals import mean_interval

_REPETITIONS = 24


class TailGrowth(Document):
    """Growth of percentiles by model, one figure per level; null if a queue grows without end.

    ``cv``: coefficient of variation of service times. ``block``: requests over which they are correlated.
    ``intervals``: 95 % intervals of simulated figures, over repetitions.
    """

    levels: list[float]
    load: float
    lost: float
    workers: int
    cv: float
    block: int
    models: dict[str, list[float | None]]
    intervals: dict[str, list[list[float] | None]]


def read_services(path: Path) -> Array:
    """Read service times from a file, one number per line.

    Raises
    ------
    UsageError
        The file cannot be read, contains something other than numbers, or has too few.
    """
    try:
        times = np.array([float(line) for line in read_text(path).split()])
    except OSError as error:
        raise unreadable_file(path, error) from None
    except ValueError:
        raise UsageError(
            "bad-file",
            f"{path} contains something other than numbers",
            hint="write one service time per line",
            path=str(path),
        ) from None
    if len(times) < LEAST_SERVICES or not (np.isfinite(times).all() and times.min() > 0):
        raise UsageError(
            "bad-file",
            f"{path} has {len(times)} numbers; at least {LEAST_SERVICES} times above 0 are needed",
            hint="write one service time per line",
            path=str(path),
            have=len(times),
            need=LEAST_SERVICES,
        )
    return times


def predict_growth(
    service: Array | None,
    *,
    levels: Sequence[float],
    load: float,
    lost: float,
    workers: int = 1,
    with_job: Array | None = None,
    seed: int = 1,
) -> TailGrowth:
    """Predict the growth of percentiles when a rate is lost, by model.

    Parameters
    ----------
    service : array or None
        Service times alone, in order; None for exponential ones.
    levels : sequence of float
        Levels of the percentiles, 0.99 for p99.
    load, lost : float
        Load of each worker without the slowdown, and share of the rate that is lost.
    workers : int
        Workers of one queue.
    with_job : array, optional
        Service times next to a job; each time then grows like its quantile.
    seed : int

    Raises
    ------
    UsageError
        The load, the loss or a level is out of range.
    """
    if not (0 < load < 1 and 0 <= lost < 1 and workers >= 1 and all(0 < one < 1 for one in levels)):
        raise UsageError(
            "bad-value",
            f"load {load:.0%}, lost {lost:.0%}, {workers} workers: the load and the percentiles must be"
            " between 0 and 100 %, the loss below 100 %, and there must be a worker",
            hint="--load 50% --lost 10%",
            load=load,
            lost=lost,
            workers=workers,
        )
    rng = np.random.default_rng(seed)
    at, block = np.array(levels), 1 if service is None else block_of(service)
    requests = 100_000 if workers == 1 else 20_000  # several workers are simulated request by request
    free = _repeat_queue(service, load * workers, 1, requests, rng)
    spells = free if block == 1 else _repeat_queue(service, load * workers, block, requests, rng)

    # For exponential service, the mean over repetitions is known; for a sample, only one repetition is known.
    wide = 1.0 if service is None else math.sqrt(_REPETITIONS)

    def growth(queue: Queue, takes: Array) -> list[Estimate | None]:
        if float(np.mean(takes)) * load >= float(np.mean(queue.service)):
            return [None] * len(at)
        ratios = queue.percentiles(at, takes, workers) / queue.percentiles(at, servers=workers) - 1
        found = [mean_interval(row) for row in ratios]
        return [
            replace(
                one,
                low=one.value - wide * (one.value - one.low),
                high=one.value + wide * (one.high - one.value),
            )
            for one in found
        ]

    line = mm1(0.5, load, lost) / mm1(0.5, load) - 1
    name = "M/G/1" if workers == 1 else f"M/G/{workers}"
    models = {name: growth(free, free.service / (1 - lost))}
    models["regimes"] = models[name] if spells is free else growth(spells, spells.service / (1 - lost))
    if with_job is not None:
        assert service is not None
        steps = np.linspace(0, 1, 101)
        levels_alone, levels_with_job = np.quantile(service, steps), np.quantile(with_job, steps)
        models["quantile map"] = growth(free, stretch_service(levels_alone, levels_with_job, free.service))
    return TailGrowth(
        levels=list(levels),
        load=load,
        lost=lost,
        workers=workers,
        cv=float(np.std(free.service) / np.mean(free.service)),
        block=block,
        models={"M/M/1": [line if np.isfinite(line) else None] * len(at)}
        | {name: [None if one is None else one.value for one in found] for name, found in models.items()},
        intervals={
            name: [None if one is None else [one.low, one.high] for one in found]
            for name, found in models.items()
        },
    )


def _repeat_queue(
    service: Array | None, busy: float, block: int, requests: int, rng: np.random.Generator
) -> Queue:
    """Build repetitions of a queue, each with new service times, exponential or from a sample.

    The sample is resampled for each repetition (block bootstrap), so that intervals include its error.
    """
    if service is None:
        sample = rng.exponential(size=(_REPETITIONS, requests))
    else:
        samples = [_blocks(service, len(service), block, rng) for _ in range(_REPETITIONS)]
        sample = np.stack([_blocks(one, requests, block, rng) for one in samples])
    return Queue(rng.exponential(sample.mean(axis=1, keepdims=True) / busy, sample.shape), sample)


def _blocks(service: Array, count: int, block: int, rng: np.random.Generator) -> Array:
    return Queue.draw(service, 1.0, requests=count, block=block, seed=int(rng.integers(1 << 32))).service
