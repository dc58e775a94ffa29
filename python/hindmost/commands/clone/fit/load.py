"""Service times that depend on the load, from logs of the same server at several loads.

A processor that was idle for a while is slower at first (its clock, its caches, other guests of a virtual
machine's host), so services take longer at low load: for SQLite here by 15 % at 20 % load compared with 70 %.
A single log does not show this, because a moving average of its load hardly changes. Several logs do, if
their requests have the same mix; means are therefore compared by kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.commands.clone.fit.bins import Floats, Ints
from hindmost.commands.clone.fit.reading import Log
from hindmost.core.notes import Note
from hindmost.stats.tables import t_quantile

LEAST_SPREAD = 0.15
"""Smallest difference of utilisations from which a load dependence is estimated."""

SECTIONS = 10
"""Parts of each log whose scatter gives the error."""

LEAST_FREE = 2
"""Fewest logs beyond two for which their scatter around the line shows differences between hours."""

LEAST = 0.01
"""Dependences below one percent from idle to full load are left out of the document."""

FARTHEST = -0.9
"""Smallest `load.time` of a document."""


@dataclass(frozen=True)
class Load:
    """The relative change of service times from no load to full load.

    Parameters
    ----------
    time : float
        `load.time` of the document: service times are multiplied by 1 + time * utilisation.
    low, high : float
        95 % interval.
    at : tuple of float
        Utilisation of each log.
    bend : float
        Largest relative deviation of a log from that line.
    """

    time: float
    low: float
    high: float
    at: tuple[float, ...]
    bend: float

    @property
    def seen(self) -> bool:
        """Whether the change is significant and large enough for a parameter."""
        return abs(self.time) > LEAST and (self.low > 0.0 or self.high < 0.0)

    def __str__(self) -> str:
        logs = ", ".join(f"{100 * one:.0f} %" for one in self.at)
        return (
            f"service times change by {100 * self.time:+.3g} %"
            f" [{100 * self.low:+.3g}, {100 * self.high:+.3g}] from no load to full"
            f" (logs at {logs}; off this line by up to {100 * self.bend:.2g} %)"
        )


def find_load(
    logs: tuple[Log, ...], us: Floats, part: Ints, kind: Ints | None, stopped_us: Sequence[float]
) -> Load | Note:
    """Estimate the load dependence from logs with equal thread counts, or say why it is unknown.

    Parameters
    ----------
    logs : tuple of Log
        At least one.
    us : array of shape (n,)
        Demand of each request, one log after the other.
    part : array of shape (n,)
        Index of the log of each request.
    kind : array of shape (n,), optional
        Kind of each request.
    stopped_us : sequence of float
        Time for which arrivals interrupted the services of each log.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> def log(share):  # 100 us, 40 % less at full load
    ...     start = np.cumsum(rng.exponential(100.0 / share, 4_000))
    ...     return Log("x", "", "", rng.exponential(100.0 / (1.0 + 0.4 * share), 4_000), start_us=start)
    >>> logs = (log(0.2), log(0.5), log(0.7))
    >>> us = np.concatenate([one.wall_us for one in logs])
    >>> found = find_load(logs, us, np.repeat([0, 1, 2], 4_000), None, [0.0] * 3)
    >>> found.seen, found.low < -0.4 < found.high
    (True, True)
    """
    if len(logs) < 2:
        at = logs[0].utilisation
        where = "" if at is None else f", at {at:.0%} of the capacity"
        return Note(
            "unknown-load-dependence",
            f"times that depend on the load: there is one log{where}; give logs of the same server at low,"
            " half and high load",
            {"logs": 1, "at": [at]},
        )
    spans = [one.span_us for one in logs]
    if not all(spans):
        return Note(
            "unknown-load-dependence",
            "times that depend on the load: a log does not tell at which load it was taken",
            {"logs": len(logs), "at": [one.utilisation for one in logs]},
        )
    # Interference is left out: it makes no thread busier.
    asked = np.bincount(part, us, minlength=len(logs)) + np.array(stopped_us)
    x = np.array([busy / (one.threads * (one.span_us or 1.0)) for busy, one in zip(asked, logs, strict=True)])
    if x.max() - x.min() < LEAST_SPREAD:
        return Note(
            "unknown-load-dependence",
            f"times that depend on the load: the logs were taken at {x.min():.0%} to {x.max():.0%};"
            f" they must differ by {LEAST_SPREAD:.0%}",
            {"logs": len(logs), "at": [float(one) for one in x], "least": LEAST_SPREAD},
        )
    group = np.zeros(us.size, dtype=np.int64) if kind is None else kind
    section = np.concatenate([np.arange(one.n) * SECTIONS // one.n for one in logs])
    whole = _means(us, part, group, np.zeros(us.size, dtype=np.int64), len(logs), 1)[0]
    time, bend = _line(x, whole)
    parts = _means(us, part, group, section, len(logs), SECTIONS)
    errors = parts.std(axis=0, ddof=1) / np.sqrt(SECTIONS)
    # Slope and intercept are weighted sums of the logs' means. For small errors, so is their ratio.
    pull = (x - x.mean()) / float(((x - x.mean()) ** 2).sum())
    level = 1.0 / x.size - pull * float(x.mean())
    error = np.sqrt((((pull - time * level) * errors) ** 2).sum()) / abs(float(level @ whole))
    half = float(t_quantile(SECTIONS - 1, 0.975) * error)
    free = x.size - 2
    if free >= LEAST_FREE:
        # Hours differ, too: the scatter of logs around the line includes both.
        off = whole - float(level @ whole) * (1.0 + time * x)
        drift = np.sqrt((off @ off) / free * ((pull - time * level) ** 2).sum()) / abs(float(level @ whole))
        half = max(half, float(t_quantile(free, 0.975) * drift))
    return Load(time, time - half, time + half, tuple(float(one) for one in x), bend)


def _means(us: Floats, part: Ints, kind: Ints, section: Ints, logs: int, sections: int) -> Floats:
    """Return mean times by section and log, ``(sections, logs)``, with overall shares of kinds."""
    kinds = int(kind.max()) + 1
    place = (section * logs + part) * kinds + kind
    size = sections * logs * kinds
    count = np.bincount(place, minlength=size).reshape(sections, logs, kinds)
    total = np.bincount(place, us, minlength=size).reshape(sections, logs, kinds)
    overall = np.bincount(kind, us, minlength=kinds) / np.maximum(np.bincount(kind, minlength=kinds), 1)
    mean = np.where(count > 0, total / np.maximum(count, 1), overall)
    share = np.bincount(kind, minlength=kinds) / kind.size
    return np.asarray(mean @ share)


def _line(x: Floats, mean: Floats) -> tuple[float, float]:
    """Return slope over intercept of the line through the means, and its largest relative error."""
    slope, base = np.polyfit(x, mean, 1)
    time = max(float(slope / base), FARTHEST) if base > 0.0 else FARTHEST
    return time, float(np.abs(mean / (base + slope * x) - 1.0).max())
