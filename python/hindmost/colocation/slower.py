"""A server that becomes slower, asked by hand: how its percentiles grow, by each model of its queue."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hindmost.colocation.profiles import Array
from hindmost.colocation.tail import LEAST_SERVICES, Queue, block_of, mm1, stretched
from hindmost.documents import read_text
from hindmost.errors import UsageError

_REQUESTS = 100_000


def read_services(path: Path) -> Array:
    """Read service times, a number a line.

    Raises
    ------
    UsageError
        The file cannot be read, or has other things, or too few numbers.
    """
    try:
        found = np.array([float(line) for line in read_text(path).split()])
    except OSError as error:
        raise UsageError(
            "no-such-file" if isinstance(error, FileNotFoundError) else "unreadable-file",
            f"{path} cannot be read: {error.strerror}",
            hint=f"ls -l {path}",
            path=str(path),
        ) from None
    except ValueError:
        raise UsageError(
            "bad-file",
            f"{path} contains something other than numbers",
            hint="write one service time per line",
            path=str(path),
        ) from None
    if len(found) < LEAST_SERVICES or not (np.isfinite(found).all() and found.min() > 0):
        raise UsageError(
            "bad-file",
            f"{path} has {len(found)} numbers; at least {LEAST_SERVICES} times above 0 are needed",
            hint="write one service time per line",
            path=str(path),
            have=len(found),
            need=LEAST_SERVICES,
        )
    return found


def grown(
    service: Array | None,
    *,
    levels: Sequence[float],
    load: float,
    lost: float,
    workers: int = 1,
    beside: Array | None = None,
    seed: int = 1,
) -> dict[str, Any]:
    """Say by what share percentiles grow where a rate is lost, by model; None where a queue never ends.

    Parameters
    ----------
    service : array or None
        Service times alone, in order; exponential ones.
    levels : sequence of float
        Of the percentiles, 0.99 for p99.
    load, lost : float
        Of each worker, alone; share of the rate.
    workers : int
        Of one queue.
    beside : array, optional
        Service times beside a job: each time grows as its quantile did.
    seed : int

    Raises
    ------
    UsageError
        A load, a loss or a level that cannot be.
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
    service = rng.exponential(size=100_000) if service is None else service
    at, between = np.array(levels), float(np.mean(service)) / (load * workers)
    free = Queue.drawn(service, between, requests=_REQUESTS, seed=seed)
    block = block_of(service)
    spells = Queue.drawn(service, between, requests=_REQUESTS, block=block, seed=seed)

    def of(queue: Queue, takes: Array) -> list[float | None]:
        if float(np.mean(takes)) >= between * workers:
            return [None] * len(at)
        alone = queue.percentiles(at, servers=workers)
        return [float(one) for one in queue.percentiles(at, takes, workers) / alone - 1]

    line = mm1(0.5, load, lost) / mm1(0.5, load) - 1
    models: dict[str, list[float | None]] = {
        "M/M/1": [line if np.isfinite(line) else None] * len(at),
        "M/G/1" if workers == 1 else f"M/G/{workers}": of(free, free.service / (1 - lost)),
        "regimes": of(spells, spells.service / (1 - lost)),
    }
    if beside is not None:
        steps = np.linspace(0, 1, 101)
        levels_alone, levels_beside = np.quantile(service, steps), np.quantile(beside, steps)
        models["quantile map"] = of(free, stretched(levels_alone, levels_beside, free.service))
    return {
        "levels": list(levels),
        "load": load,
        "lost": lost,
        "workers": workers,
        "cv": float(np.std(service) / np.mean(service)),
        "block": block,
        "models": models,
    }
