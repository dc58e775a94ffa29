"""The latency of a log compared with that of the clone under the log's arrivals, including random variation.

A law is fitted to service times; only waiting shows whether the queue in front of it is right as well. So the
clone is simulated under the arrivals of the log several times with different random numbers. Each time, the
rates of pauses are drawn as the counts in the log allow (few long pauses have uncertain rates and dominate
the tail), and parameters as another log could have given them. The scatter of the figures between these
replays is the variation of a log of that length under a correct clone: the noise floor of the comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.documents.fit import Own, OwnRow
from hindmost.commands.clone.documents.predictions import Interval
from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.pauses.disturbance import Disturbance
from hindmost.commands.clone.fit.pauses.idle import idle_arrivals, stamped_by_others
from hindmost.commands.clone.fit.reading import Log
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.commands.clone.uncertainty import draw_changes
from hindmost.core.notes import Note
from hindmost.stats.tables import t_quantile

LEVELS = (0.5, 0.95, 0.99, 0.999)
REPLAYS = 12
LONGEST = 200_000
"""Most requests of a log that are replayed."""

BEYOND = 20
"""Fewest requests beyond a quantile for it to be compared."""

BLOCKS = 40
DRAWS = 400

MARGIN = 0.05
"""Deviations within five percent are accepted even if they are significant."""


def own_load(clone: Clone, log: Log, beside_us: float, pauses: Sequence[Disturbance] = ()) -> Own:
    """Compare the latencies of log and clone, or say why that of the log is unknown.

    Parameters
    ----------
    clone : Clone
        The clone with all disturbances of the log.
    log : Log
        The log, with any number of threads.
    beside_us : float
        Time after the logged end of a service that the clone's service times include.
    pauses : sequence of Disturbance
        The clone's disturbances in order; their counts determine the drawn rates.
    """
    if log.start_us is None or log.arrival_us is None:
        return _not_compared("no-arrival-times", "the log has no arrival times, so its latency is unknown")
    if not stamped_by_others(log):
        return _not_compared(
            "unstamped-arrivals",
            "no request of the log arrives while all threads are busy, so arrival_ns is when a thread turned"
            " to the request, and the log lacks the time that requests waited before",
        )
    arrival = np.argsort(log.arrival_us, kind="stable")[:LONGEST]
    latency = (log.start_us + log.wall_us - log.arrival_us)[arrival]
    n = latency.size
    found = idle_arrivals(log)
    wake = float(np.median(found.delay_us)) if found is not None and found.delay_us.size else 0.0
    document = {**clone.document, "threads": log.threads, "wake_us": wake, "outside_us": 0.0}
    moments = log.arrival_us[arrival]
    levels = tuple(level for level in LEVELS if n * (1.0 - level) >= BEYOND)
    design = Design(
        requests=n,
        warmup=0,
        sections=1,
        quantiles=levels,
        arrivals=[float(us) for us in moments - moments[0]],
        backlog=True,
    )
    changes = draw_changes(clone, 1) or [{}] * REPLAYS
    points = [
        {"seed": seed, "set": {**change, **_draw_rates(pauses, seed)}}
        for seed, change in enumerate(changes[:REPLAYS], start=1)
    ]
    told = [one.prediction.latency_us for one in run_points(Clone.from_document(document), points, design)]
    names = ("mean", *(f"p{100 * level:g}" for level in levels))
    blocks = _bootstrap_figures(latency, levels)
    rows = []
    for place, name in enumerate(names):
        values = np.array([one[name].value for one in told]) - beside_us
        own = float(_figures(latency, levels)[place])
        logs = np.log(np.maximum(values, 1e-3))
        chance = float(
            t_quantile(REPLAYS - 1, 1.0 - 0.025 / len(names))
            * logs.std(ddof=1)
            * np.sqrt(1.0 + 1.0 / REPLAYS)
        )
        low, high = np.quantile(blocks[:, place], [0.025, 0.975])
        rows.append(_row(name, own, (float(low), float(high)), float(np.exp(logs.mean())), chance))
    return Own(why=None, source=log.source, utilisation=log.utilisation or 0.0, requests=n, rows=rows)


def _not_compared(code: str, text: str) -> Own:
    return Own(why=Note(code, text).document(), source=None, utilisation=None, requests=None, rows=[])


def _row(name: str, log_us: float, ends: tuple[float, float], clone_us: float, chance: float) -> OwnRow:
    off = clone_us / log_us - 1.0
    return OwnRow(
        name=name,
        log_us=Interval(value=log_us, low=ends[0], high=ends[1]),
        clone_us=clone_us,
        off=off,
        chance=chance,
        differs=abs(math.log1p(off)) > max(chance, math.log1p(MARGIN)),
    )


def _draw_rates(pauses: Sequence[Disturbance], seed: int) -> dict[str, float]:
    """Draw rates and probabilities as in another log, from gamma laws of the counts."""
    draws = np.random.default_rng(seed)
    changes = {}
    for place, one in enumerate(pauses):
        name, rate = one.rate
        if name != "every_us":
            drawn = rate * draws.gamma(one.hits) / one.hits
            changes[f"/disturbances/{place}/when/{name}"] = min(drawn, 1.0) if one.requests else drawn
    return changes


def _figures(us: Floats, levels: Sequence[float]) -> Floats:
    return np.array([us.mean(), *np.quantile(us, levels)])


def _bootstrap_figures(us: Floats, levels: Sequence[float]) -> Floats:
    """Return figures of logs made of drawn blocks, of shape ``(DRAWS, 1 + len(levels))``."""
    parts = np.array_split(us, BLOCKS)
    sizes, sums = np.array([[part.size, part.sum()] for part in parts]).T
    order = np.argsort(us)
    ordered, block = us[order], np.repeat(np.arange(BLOCKS), sizes.astype(np.int64))[order]
    draws = np.random.default_rng(1)
    rows = []
    for _ in range(max(20, min(DRAWS, 20_000_000 // us.size))):
        # Sorted only once: in a drawn log, each request occurs as often as its block was drawn.
        times = np.bincount(draws.integers(BLOCKS, size=BLOCKS), minlength=BLOCKS)
        upto = np.cumsum(times[block])
        at = np.asarray(levels) * (upto[-1] - 1)
        below = np.floor(at)
        low, high = (
            ordered[np.searchsorted(upto, np.minimum(place, upto[-1] - 1), side="right")]
            for place in (below, below + 1)
        )
        rows.append(np.concatenate([[times @ sums / upto[-1]], low + (at - below) * (high - low)]))
    return np.array(rows)
