"""The replay of logs of several threads in the simulator, and the deviation of its service times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hindmost import _engine
from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.reading import Log
from hindmost.commands.clone.fit.threads.sharing import with_sharing

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""Quantiles that are compared besides the mean; the tail is left out because it depends on few requests."""

REPLAYED = 20_000
"""Most requests of a log that are replayed."""

PARTS = 25
"""Parts of a log whose scatter gives the error of its figures."""

FLOOR = 0.002
"""Normal difference between logs taken at different hours."""


def busy_others(log: Log) -> Floats:
    """Return the share of the other threads that are busy when each service starts."""
    start, end = log.start_us, log.end_us
    if start is None or end is None or log.threads == 1:
        return np.zeros(log.n)
    begun = np.arange(log.n)
    ended = np.searchsorted(np.sort(end), start, side="right")
    return np.asarray(np.clip(begun - ended, 0, log.threads - 1) / (log.threads - 1))


@dataclass(frozen=True)
class Target:
    """Arrivals of a log of several threads, and its figures relative to one thread with their errors."""

    log: Log
    figures: Floats
    whitening: Floats
    requests: int
    design: str

    @classmethod
    def from_logs(cls, log: Log, alone: Log) -> Target:
        """Compare a log with that of one thread."""
        arrival = log.arrival_us if log.arrival_us is not None else log.start_us
        assert arrival is not None
        figures, own = _with_error(log.wall_us)
        base, other = _with_error(alone.wall_us)
        times = np.sort(arrival[:REPLAYED])
        covariance = own + other + FLOOR**2 * (1.0 + np.eye(figures.size))
        whitening = np.linalg.inv(np.linalg.cholesky(covariance))
        arrivals = {"kind": "trace", "times_us": (times - times[0]).tolist()}
        return cls(log, figures - base, whitening, times.size, _design(arrivals, times.size))


def _figures(us: Floats) -> Floats:
    """Return the logarithms of mean and quantiles."""
    return np.log([float(us.mean()), *np.quantile(us, LEVELS)])


def _with_error(us: Floats) -> tuple[Floats, Floats]:
    """Return figures and their covariance from the scatter between parts in time.

    Figures vary together and must not count as independent. With so few parts, the correlations are
    uncertain, so they are reduced by a fifth.
    """
    parts = np.array([_figures(part) for part in np.array_split(us, PARTS)])
    found = np.cov(parts.T) / PARTS
    return _figures(us), 0.8 * found + 0.2 * np.diag(np.diag(found))


def _design(arrivals: dict[str, Any], requests: int) -> str:
    """Return the design of a replay as text, which a search uses a hundred times."""
    design = {
        "points": [{"seed": 1}],
        "arrivals": arrivals,
        "requests": requests,
        "warmup": 0,
        "sections": 1,
        "quantiles": [0.5],
        "backlog": True,
    }
    return json.dumps(design)


def _simulate(document: dict[str, Any], design: str) -> Floats:
    """Return the figures of the simulated service times."""
    columns = dict(_engine.simulate_columns(json.dumps(document), design))
    start, finish = (np.frombuffer(columns[name]) for name in ("start_ns", "finish_ns"))
    return _figures((finish - start) / 1e3)


@dataclass(frozen=True)
class Rerun:
    """A replay of the logs' arrivals with the law of one thread and the sharing between threads.

    Parameters
    ----------
    clone : dict
        Document with the law of one thread, without disturbances.
    mean_us : float
        Mean of that law.
    targets : sequence of Target
        Figures to be matched.
    """

    clone: dict[str, Any]
    mean_us: float
    targets: Sequence[Target]

    @classmethod
    def from_logs(cls, clone: Clone, mean_us: float, logs: Sequence[Log], alone: Log) -> Rerun:
        """Prepare the replay of `logs`, compared with the log of one thread."""
        base = {**clone.document, "origin": None, "disturbances": []}
        return cls(base, mean_us, [Target.from_logs(log, alone) for log in logs])

    @cached_property
    def alone(self) -> str:
        """Design of one thread that is never idle and draws the same random numbers as the replay."""
        requests = max(target.requests for target in self.targets)
        return _design({"kind": "closed", "clients": 1, "think_us": 0.0}, requests)

    @property
    def figures(self) -> int:
        """Number of compared figures."""
        return sum(target.figures.size for target in self.targets)

    def residuals(self, hold_us: float, stretch: float) -> Floats:
        """Return the deviations of the figures from those of the logs, in standard errors."""
        document = with_sharing(self.clone, self.mean_us, hold_us, stretch)
        alone = _simulate({**document, "threads": 1}, self.alone)
        found = []
        for target in self.targets:
            told = _simulate({**document, "threads": target.log.threads}, target.design)
            found.append(target.whitening @ (told - alone - target.figures))
        return np.concatenate(found)
