"""What threads do to one another: locks, and memory that they share, from logs of 1, 2 and 4 threads.

Two causes make a service longer where other threads are busy. A *stretch* (caches, memory, a shared core)
makes every request longer by a share that grows with the share of the other threads that are busy. A *lock*
adds a wait to those that find it taken, the likelier the more threads there are, and in the end limits the
throughput. So the stretch shows in every quantile and is the same at 2 and at 4 busy threads, the wait is
not. Both are found together by the queue simulator: it replays the arrivals of each log with the law of one
thread, and hold time and stretch are moved until mean and quantiles of the service times change against those
of one thread as they do in the logs. The same random numbers are served by one thread alone for comparison,
so that neither luck nor a law that misses a quantile counts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hindmost import _engine
from hindmost.errors import UsageError
from hindmost.models.document import Clone
from hindmost.models.fit.bins import Floats
from hindmost.models.fit.laws import rounded
from hindmost.models.fit.reading import Log

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""Quantiles that are compared, beside the mean: below the tail, which few requests decide."""

REPLAYED = 20_000
"""Requests of a log that are replayed."""

PARTS = 25
"""Parts of a log by which the error of its figures is told."""

FLOOR = 0.002
"""What a log of one thread and one of several may differ by without anything between threads: the next
hour."""

WORTH = 16.0
"""Fall of the sum of squares (in standard errors) that a parameter must bring: four standard errors, because
all logs are compared with the same one of one thread, whose luck is in all of them."""

APART = 4.0
"""Fall below which a lock cannot be told from a stretch."""

LEAST_BUSY = 0.05
"""Mean share of the other threads that are busy, below which they hardly met."""

HOLDS = (0.05, 0.2)
"""Shares of the mean service time at which the search for a hold time begins."""

MOST_STRETCH = 3.0
STEP = 0.02
ROUNDS = 12


@dataclass(frozen=True)
class Sharing:
    """What logs of several threads say.

    Parameters
    ----------
    hold_us : float
        Time that a lock is held by each request; 0 where there is none.
    stretch : float
        `load.busy` of the document; 0 where there is none.
    intervals : dict
        95 % intervals, by their names in the document.
    said : tuple of str
        What was found, in words.
    unknown : tuple of str
        What could not be told.
    """

    hold_us: float = 0.0
    stretch: float = 0.0
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def document(self, clone: dict[str, Any], mean_us: float) -> dict[str, Any]:
        """The document with lock and stretch in it."""
        return shared(clone, mean_us, rounded(self.hold_us), rounded(self.stretch))


def shared(clone: dict[str, Any], mean_us: float, hold_us: float, stretch: float) -> dict[str, Any]:
    """Document with a lock that every request holds for `hold_us`, and a stretch."""
    document = {**clone, "load": {**clone.get("load", {}), "busy": stretch}}
    if hold_us > 0.0:
        factor = 1.0 - hold_us / mean_us
        for group in [document] if document.get("service") else []:
            document["service"] = [_shorter(component, factor) for component in group["service"]]
        if document.get("kinds"):
            document["kinds"] = [
                {**kind, "service": [_shorter(component, factor) for component in kind["service"]]}
                for kind in document["kinds"]
            ]
        hold = {"kind": "deterministic", "us": hold_us}
        document["locks"] = [{"name": "shared", "at": "before", "hold": hold}]
    return document


def _shorter(component: dict[str, Any], factor: float) -> dict[str, Any]:
    law = dict(component["law"])
    for key, value in law.items():
        if (key == "us" or key.endswith("_us")) and value is not None:
            law[key] = value * factor
        elif key == "points":
            law[key] = [[p, us * factor] for p, us in value]
    return {**component, "law": law}


def busy_others(log: Log) -> Floats:
    """Share of the other threads that are busy when each service begins."""
    start, end = log.start_us, log.end_us
    if start is None or end is None or log.threads == 1:
        return np.zeros(log.n)
    begun = np.arange(log.n)
    ended = np.searchsorted(np.sort(end), start, side="right")
    return np.asarray(np.clip(begun - ended, 0, log.threads - 1) / (log.threads - 1))


@dataclass(frozen=True)
class _Target:
    """A log of several threads: arrivals, and figures over those of one thread with their errors."""

    log: Log
    figures: Floats
    whitening: Floats
    times_us: list[float]

    @classmethod
    def of(cls, log: Log, alone: Log) -> _Target:
        arrival = log.arrival_us if log.arrival_us is not None else log.start_us
        assert arrival is not None
        figures, own = _with_error(log.wall_us)
        base, other = _with_error(alone.wall_us)
        times = np.sort(arrival[:REPLAYED])
        covariance = own + other + FLOOR**2 * (1.0 + np.eye(figures.size))
        whitening = np.linalg.inv(np.linalg.cholesky(covariance))
        return cls(log, figures - base, whitening, [float(us) for us in times - times[0]])


def _figures(us: Floats) -> Floats:
    """Logarithms of the mean and the quantiles."""
    return np.log([float(us.mean()), *np.quantile(us, LEVELS)])


def _with_error(us: Floats) -> tuple[Floats, Floats]:
    """Figures and their covariance, by the scatter of parts in time.

    Figures go up and down together, which must not count as often as there are figures; of so few parts the
    correlations are known roughly, and are taken by four fifths.
    """
    parts = np.array([_figures(part) for part in np.array_split(us, PARTS)])
    found = np.cov(parts.T) / PARTS
    return _figures(us), 0.8 * found + 0.2 * np.diag(np.diag(found))


def find_sharing(logs: Sequence[Log], clone: Clone, mean_us: float) -> Sharing:
    """Find lock and stretch.

    Parameters
    ----------
    logs : sequence of Log
        The first is of one thread, or of the fewest; `clone` was fitted to it.
    clone : Clone
        The law of one thread.
    mean_us : float
        Its mean.

    Raises
    ------
    UsageError
        A log has no moments or threads.
    """
    for log in logs:
        if log.start_us is None or log.thread is None:
            raise UsageError(
                f"{log.source} has no start_ns, end_ns and thread: nothing of threads can be told from it",
                hint="a server's log of each thread count: start_ns,end_ns,cpu_ns,thread",
            )
    several = [log for log in logs if log.threads > 1]
    if not several:
        return Sharing(unknown=("locks and shared memory: all logs are of one thread",))
    met = [float(busy_others(log).mean()) for log in several]
    if max(met) < LEAST_BUSY:
        return Sharing(
            unknown=(
                f"locks and shared memory: threads hardly met (the others were busy {max(met):.1%} of the"
                " time);"
                " load the server until they do",
            )
        )
    base = {**clone.document, "origin": None, "disturbances": []}
    targets = [_Target.of(log, logs[0]) for log in several]

    def residuals(hold_us: float, stretch: float) -> Floats:
        document = shared(base, mean_us, hold_us, stretch)
        alone = _served({**document, "threads": 1}, {"kind": "closed", "clients": 1, "think_us": 0.0})
        found = []
        for target in targets:
            arrivals = {"kind": "trace", "times_us": target.times_us}
            told = _served({**document, "threads": target.log.threads}, arrivals, len(target.times_us))
            found.append(target.whitening @ (told - alone - target.figures))
        return np.concatenate(found)

    return _judged(residuals, mean_us, targets)


def _served(document: dict[str, Any], arrivals: dict[str, Any], requests: int = REPLAYED) -> Floats:
    """Figures of the service times, from begin to end, that the simulator finds."""
    design = {
        "points": [{"seed": 1}],
        "arrivals": arrivals,
        "requests": requests,
        "warmup": 0,
        "sections": 1,
        "quantiles": [0.5],
        "backlog": True,
    }
    columns = dict(_engine.simulate_columns(json.dumps(document), json.dumps(design)))
    start, finish = (np.frombuffer(columns[name]) for name in ("start_ns", "finish_ns"))
    return _figures((finish - start) / 1e3)


def _judged(residuals: Any, mean_us: float, targets: Sequence[_Target]) -> Sharing:  # noqa: ANN401 (a closure)
    """Fit nothing, a lock, a stretch, and both; take the least that explains the logs."""
    none = residuals(0.0, 0.0)
    chi = {"none": float(none @ none)}
    at: dict[str, Floats] = {}
    spread: dict[str, Floats] = {}

    def fit(name: str, free: tuple[int, ...], *starts: Sequence[float] | Floats) -> None:
        for start in starts:
            found = _least(residuals, free, np.array(start), mean_us)
            if name not in chi or found[2] < chi[name]:
                at[name], spread[name], chi[name] = found

    fit("stretch", (1,), (0.0, 0.0))
    # A wait grows with the square of the hold time: at 0 there is no slope to follow.
    fit("lock", (0,), *((share * mean_us, 0.0) for share in HOLDS))
    fit("both", (0, 1), *((share * mean_us, at["stretch"][1]) for share in HOLDS), at["lock"])
    fit("lock", (0,), (at["both"][0], 0.0))
    one = min(("lock", "stretch"), key=lambda name: chi[name])
    if chi["none"] - min(chi.values()) < WORTH:
        return Sharing(
            said=(
                "with several threads busy, services take as long as with one: no lock and no stretch is"
                " to be seen",
            )
        )
    name = "both" if chi[one] - chi["both"] > WORTH else one
    other = "lock" if name == "stretch" else "stretch"
    unknown = []
    if name != "both" and chi[other] - chi[name] < APART:
        unknown.append(
            f"whether threads wait for a lock or stretch one another: a {other} explains the logs nearly as"
            " well as"
            f" the {name} that was written down (logs of 2 and of 4 busy threads tell them apart)"
        )
    hold, stretch = float(at[name][0]), float(at[name][1])
    reach = 1.96 * spread[name]
    intervals, said = {}, []
    if hold > 0:
        low, high = max(0.0, hold - reach[0]), hold + reach[0]
        intervals["locks[0].hold.us"] = (rounded(low), rounded(high))
        said.append(f"each request holds a lock for {hold:.3g} us [{low:.3g}, {high:.3g}]")
        unknown.append(
            "the lock: whether waiters spin or sleep, what waking takes, and that there is but one"
        )
    if name in ("stretch", "both"):
        low, high = stretch - reach[1], stretch + reach[1]
        intervals["load.busy"] = (rounded(low), rounded(high))
        said.append(
            f"with all other threads busy, services take {stretch:+.1%} longer [{low:+.1%}, {high:+.1%}]"
        )
    misses = chi[name] / max(1, sum(t.figures.size for t in targets) - 2)
    if misses > 4.0:
        unknown.append(
            f"threads: lock and stretch together leave the service times {math.sqrt(misses):.2g} standard"
            " errors away:"
            " something else happens between threads"
        )
    return Sharing(hold, stretch, intervals, tuple(said), tuple(unknown))


def _least(
    residuals: Any,  # noqa: ANN401 (a closure)
    free: tuple[int, ...],
    start: Floats,
    mean_us: float,
) -> tuple[Floats, Floats, float]:
    """Least squares by Gauss and Newton in the free parameters; values, standard errors, sum of squares.

    Common random numbers make the replay smooth enough to be differentiated.
    """
    low, high = np.array([0.0, -0.5]), np.array([0.95 * mean_us, MOST_STRETCH])
    step = np.array([STEP * mean_us, STEP])
    at, now = start, residuals(*start)
    for _ in range(ROUNDS):
        slopes = []
        for place in free:
            moved = at.copy()
            moved[place] += step[place]
            slopes.append((residuals(*moved) - now) / step[place])
        jacobian = np.array(slopes).T
        wanted = np.zeros(2)
        wanted[list(free)] = np.linalg.lstsq(jacobian, -now, rcond=None)[0]
        better = None
        for shorter in (1.0, 0.5, 0.2):
            new = np.clip(at + shorter * wanted, low, high)
            found = residuals(*new)
            if found @ found < now @ now:
                better = (new, found)
                break
        if better is None:
            break
        moved_by = float(np.abs((better[0] - at) / step).max())
        at, now = better
        if moved_by < 0.05:
            break
    spread = np.zeros(2)
    covariance = np.linalg.pinv(jacobian.T @ jacobian)
    worse = max(1.0, float(now @ now) / max(1, now.size - len(free)))
    spread[list(free)] = np.sqrt(np.diag(covariance) * worse)
    return at, spread, float(now @ now)
