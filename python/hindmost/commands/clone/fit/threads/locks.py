"""The mutual effects of threads (locks and shared memory), from logs with 1, 2 and 4 threads.

Two causes make a service longer while other threads are busy. A *stretch* (caches, memory, a shared core)
makes every request longer by a share that grows with the share of other threads that are busy. A *lock* adds
a wait to requests that find it taken, which is more likely with more threads, and eventually limits the
throughput. A stretch therefore changes every quantile and is the same at 2 and at 4 busy threads; a wait is
not. The queue simulator finds both together: it replays the arrivals of each log with the law of one thread.
Hold time and stretch are adjusted until mean and quantiles of the service times, relative to those of one
thread, change as in the logs. For comparison, one thread alone serves the same random numbers, so neither
chance nor an error of the law's quantiles matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.laws.families import round_digits
from hindmost.commands.clone.fit.reading import Log
from hindmost.commands.clone.fit.threads.rerun import Rerun, busy_others
from hindmost.commands.clone.fit.threads.sharing import Sharing
from hindmost.core.notes import Note
from hindmost.errors import UsageError

WORTH = 16.0
"""Smallest reduction of the sum of squares (in standard errors) that justifies a parameter. It is four
standard errors, because all logs are compared with the same log of one thread and share its errors."""

APART = 4.0
"""Difference below which lock and stretch cannot be distinguished."""

LEAST_BUSY = 0.05
"""Smallest mean share of other threads that are busy; below, threads hardly affect each other."""

HOLDS = (0.05, 0.2)
"""Initial hold times of the search, as shares of the mean service time."""

MOST_STRETCH = 3.0

STEP = 0.02
"""Step for numerical derivatives, in shares of the mean service time and of the stretch."""

EVALUATIONS = 12
"""Most steps of a search; it ends when a step reduces the sum of squares by less than `TOLERANCE` of it."""

TOLERANCE = 1e-3


def find_sharing(logs: Sequence[Log], clone: Clone, mean_us: float) -> Sharing:
    """Estimate lock and stretch.

    Parameters
    ----------
    logs : sequence of Log
        Logs; the first has one thread, or the fewest, and `clone` was fitted to it.
    clone : Clone
        The clone with the law of one thread.
    mean_us : float
        Mean of that law.

    Raises
    ------
    UsageError
        A log lacks start times or thread numbers.
    """
    for log in logs:
        if log.start_us is None or log.thread is None:
            raise UsageError(
                "missing-argument",
                f"{log.source} lacks start_ns, end_ns or thread, so it tells nothing about threads",
                hint="give a server's log for each thread count: start_ns,end_ns,cpu_ns,thread",
                path=log.source,
                known=["start_ns", "end_ns", "thread"],
            )
    several = [log for log in logs if log.threads > 1]
    if not several:
        return Sharing(
            unknown=(Note("unknown-sharing", "locks and shared memory: all logs are of one thread"),)
        )
    met = [float(busy_others(log).mean()) for log in several]
    if max(met) < LEAST_BUSY:
        return Sharing(
            unknown=(
                Note(
                    "unknown-sharing",
                    "locks and shared memory: threads were rarely busy together (the others were busy"
                    f" {max(met):.1%} of the time); log under a higher load",
                    {"busy": max(met), "least": LEAST_BUSY},
                ),
            )
        )
    return _decide(Rerun.from_logs(clone, mean_us, several, logs[0]))


@dataclass(frozen=True)
class _Solution:
    """The best hold time and stretch, their standard errors, and the remaining sum of squares."""

    at: Floats
    spread: Floats
    squares: float


def _search(rerun: Rerun) -> tuple[float, dict[str, _Solution]]:
    """Return the sum of squares without sharing, and the best lock, stretch and combination."""
    none = rerun.residuals(0.0, 0.0)
    holds = [share * rerun.mean_us for share in HOLDS]
    found: dict[str, _Solution] = {}

    def fit(name: str, free: list[int], *starts: tuple[float, float]) -> None:
        tried = [_least_squares(rerun, free, start) for start in starts]
        found[name] = min([*tried, *([found[name]] if name in found else [])], key=lambda one: one.squares)

    fit("stretch", [1], (0.0, 0.0))
    # A wait grows with the square of the hold time, so there is no slope at 0.
    fit("lock", [0], *((hold, 0.0) for hold in holds))
    stretch, lock = float(found["stretch"].at[1]), float(found["lock"].at[0])
    fit("both", [0, 1], *((hold, stretch) for hold in holds), (lock, 0.0))
    fit("lock", [0], (float(found["both"].at[0]), 0.0))
    return float(none @ none), found


def _decide(rerun: Rerun) -> Sharing:
    """Choose the simplest explanation of the logs: nothing, a lock, a stretch, or both."""
    nothing, found = _search(rerun)
    squares = {name: one.squares for name, one in found.items()}
    if nothing - min(squares.values()) < WORTH:
        text = "services take as long with several busy threads as with one: no lock, no stretch"
        return Sharing(notes=(Note("no-sharing", text),))
    one = min(("lock", "stretch"), key=lambda name: squares[name])
    name = "both" if squares[one] - squares["both"] > WORTH else one
    unknown: list[Note] = []
    other = "lock" if name == "stretch" else "stretch"
    if name != "both" and squares[other] - squares[name] < APART:
        unknown.append(
            Note(
                "lock-or-stretch",
                f"whether threads wait for a lock or stretch each other: a {other} explains the logs almost"
                f" as well as the {name} in the clone (logs of 2 and of 4 busy threads tell them apart)",
                {"chosen": name, "other": other},
            )
        )
    return _sharing(name, found[name], rerun.figures, unknown)


def _sharing(name: str, found: _Solution, figures: int, unknown: list[Note]) -> Sharing:
    """Return the result with its intervals and notes."""
    hold, stretch = map(float, found.at)
    reach = 1.96 * found.spread
    intervals, notes = {}, []
    if hold > 0:
        low, high = max(0.0, hold - reach[0]), hold + reach[0]
        intervals["locks[0].hold.us"] = (round_digits(low), round_digits(high))
        notes.append(
            Note(
                "lock-found",
                f"each request holds a lock for {hold:.3g} µs [{low:.3g}, {high:.3g}]",
                {"hold_us": hold, "low_us": low, "high_us": high},
            )
        )
        unknown.append(
            Note(
                "unknown-lock-type",
                "the lock: whether waiters spin or sleep, how long waking takes, and how many there are",
            )
        )
    if name in ("stretch", "both"):
        low, high = stretch - reach[1], stretch + reach[1]
        intervals["load.busy"] = (round_digits(low), round_digits(high))
        notes.append(
            Note(
                "stretch-found",
                f"with all other threads busy, services take {stretch:+.1%} longer [{low:+.1%}, {high:+.1%}]",
                {"stretch": stretch, "low": low, "high": high},
            )
        )
    misses = found.squares / max(1, figures - 2)
    if misses > 4.0:
        unknown.append(
            Note(
                "unexplained-sharing",
                "what else happens between threads: with lock and stretch, service times are still"
                f" {math.sqrt(misses):.2g} standard errors away",
                {"standard_errors": math.sqrt(misses)},
            )
        )
    return Sharing(hold, stretch, intervals, tuple(notes), tuple(unknown))


def _least_squares(rerun: Rerun, free: list[int], start: tuple[float, float]) -> _Solution:
    """Minimise the squared residuals over the free parameters among hold time and stretch.

    Common random numbers make the replay smooth enough for numerical derivatives, with steps far above the
    granularity of its quantiles.
    """
    from scipy.optimize import approx_fprime, least_squares  # type: ignore[import-untyped]

    low, high = np.array([0.0, -0.5]), np.array([0.95 * rerun.mean_us, MOST_STRETCH])
    step = np.array([STEP * rerun.mean_us, STEP])

    def all_of(values: Floats) -> Floats:
        at = np.array(start)
        at[free] = values
        return at

    @cache  # derivatives begin at the end of the previous step
    def of(*values: float) -> Floats:
        return rerun.residuals(*all_of(np.array(values)))

    def residuals(values: Floats) -> Floats:
        return of(*map(float, values))

    done = least_squares(
        residuals,
        np.array(start)[free],
        jac=lambda values: approx_fprime(values, residuals, step[free]),
        bounds=(low[free], high[free]),
        method="dogbox",  # a hold time may end at exactly 0
        x_scale=step[free],
        ftol=TOLERANCE,
        xtol=TOLERANCE,
        gtol=None,
        max_nfev=EVALUATIONS,
    )
    squares = 2.0 * float(done.cost)
    worse = max(1.0, squares / max(1, done.fun.size - len(free)))
    spread = np.zeros(2)
    spread[free] = np.sqrt(np.diag(np.linalg.pinv(done.jac.T @ done.jac)) * worse)
    return _Solution(all_of(done.x), spread, squares)
