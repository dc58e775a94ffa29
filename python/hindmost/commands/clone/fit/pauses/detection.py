"""The detection of pauses in services, and which are the host's (by the clock) and which the requests' own.

The long pauses are classified first, by arrivals at idle threads (`scope`), because they affect the queue
most. If those are waits of requests, the shorter ones (usually interrupts) are classified separately: they
count as the requests' own only if the log shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.demand import Demand
from hindmost.commands.clone.fit.pauses.disturbance import Disturbance
from hindmost.commands.clone.fit.pauses.idle import idle_arrivals, stamped_share
from hindmost.commands.clone.fit.pauses.scope import VISIBLE, Scope, scope_of
from hindmost.commands.clone.fit.reading import Log
from hindmost.core.notes import Note

LEAST_US = 5.0
"""Shortest gap that counts as a pause; shorter ones are interrupts or differences of two clocks."""

LEAST_HITS = 10
"""Fewest pauses for fitting a law."""

REGULAR = 0.9
"""Length of the mean phase vector (Rayleigh test) above which pauses are periodic."""

WEIGHTS = (0.9, 0.99)
"""Shares of the sum of squared lengths, which determines the effect on a queue. The longest pauses with the
first share are classified, and if they are too few, those with the second."""

WAKING = 4.0
"""Multiple of the median delay at an idle thread below which delays are wake-ups."""


@dataclass(frozen=True)
class Pauses:
    """All pauses in services by type, and the evidence for the classification.

    Parameters
    ----------
    parts : tuple of Disturbance
        Pauses by the clock, inside requests, or both.
    scope : Scope
        The evidence on long pauses from arrivals at idle threads.
    lengths_us : array of shape (hits,)
        Length of each pause.
    """

    parts: tuple[Disturbance, ...]
    scope: Scope
    lengths_us: Floats = field(repr=False)

    @property
    def hits(self) -> int:
        """Number of pauses."""
        return int(self.lengths_us.size)

    def documents(self) -> list[dict[str, Any]]:
        """Return the disturbances for a clone document."""
        return [one.document() for one in self.parts]

    @property
    def own(self) -> tuple[Disturbance, ...]:
        """Pauses inside requests, which the server has on any host."""
        return tuple(one for one in self.parts if one.requests is not None)


def find_pauses(log: Log, demand: Demand) -> Pauses | Note | None:
    """Find pauses, or say why they are unknown; None if there are none."""
    if demand.excess_us is None:
        return None  # the demand already notes the missing CPU times
    hit = demand.excess_us > LEAST_US
    lengths = demand.excess_us[hit]
    hits = int(lengths.size)
    if hits == 0:
        return None
    exposed = float(demand.us.sum()) / 1e6
    if hits < LEAST_HITS:
        return Note(
            "few-pauses",
            f"{hits} gap{'s' if hits > 1 else ''} off the CPU (longest {lengths.max():.4g} µs) in"
            f" {exposed:.3g} s of service: too few for a law (at least {LEAST_HITS}), so the clone has none",
            {"have": hits, "need": LEAST_HITS, "longest_us": float(lengths.max()), "service_s": exposed},
        )
    scope, short = _scopes(log, demand, hit)
    begins = None if log.start_us is None else log.start_us[hit]

    def clock(taken: npt.NDArray[np.bool_], share: float = 1.0) -> Disturbance:
        some = lengths[taken]
        period = None if begins is None or share < 1.0 else _period(begins[taken])
        every, within = period or (None, None)
        return Disturbance(share * some.size, exposed, some, every_us=every, within_us=within)

    def inside(taken: npt.NDArray[np.bool_], share: float = 1.0) -> Disturbance:
        some = lengths[taken]
        return Disturbance(share * some.size, exposed, some, requests=log.n)

    every, long = np.ones(hits, dtype=np.bool_), lengths > scope.longer_us
    parts: tuple[Disturbance, ...] = (clock(every),)
    if scope.whom == "both":
        parts = (clock(every, scope.clock[0]), inside(every, 1.0 - scope.clock[0]))
    elif scope.whom == "request":
        # Interrupts are usually shorter than a wake-up, so delays at idle threads cannot show them.
        host = short is not None and short.whom in ("clock", "untold")
        apart = host and min(long.sum(), (~long).sum()) >= LEAST_HITS
        parts = (inside(long), clock(~long)) if apart else (inside(every),)
    return Pauses(parts, scope, lengths)


def _scopes(log: Log, demand: Demand, hit: npt.NDArray[np.bool_]) -> tuple[Scope, Scope | None]:
    """Classify the long pauses, and the short ones if they can differ."""
    assert demand.excess_us is not None
    lengths, exposed = demand.excess_us[hit], float(demand.us.sum())
    arrivals = idle_arrivals(log)
    if arrivals is None or not arrivals.delay_us.size:
        why = Note(
            "no-idle-arrivals", "no request arrived at an idle thread while all other threads were busy"
        )
        return Scope("untold", _long_us(lengths, WEIGHTS[0]), hits=lengths.size, why=why), None
    least = max(WAKING * float(np.median(arrivals.delay_us)), LEAST_US)
    # Other threads take over from a stalled one, so longer delays cannot be seen.
    most = float(np.median(arrivals.cover_us))
    long = Scope("untold")
    for weight in WEIGHTS:
        longer = max(min(_long_us(lengths, weight), most), least)
        visible = stamped_share(log, demand.us, demand.excess_us > longer)
        long = Scope("untold", longer, int((lengths > longer).sum()))
        if np.isnan(visible):
            why = Note(
                "few-arrivals-in-pauses", "too few requests arrived during pauses to tell who stamps arrivals"
            )
            long = replace(long, why=why)
        elif visible < VISIBLE:
            why = Note(
                "unstamped-arrivals",
                f"during pauses, {visible:.0%} of the usual arrivals were stamped",
                {"stamped": visible, "least": VISIBLE},
            )
            long = replace(long, why=why)
        else:
            long = scope_of(lengths, exposed, arrivals, longer_us=longer, visible=min(1.0, visible))
        if long.whom != "untold":
            break
    if long.whom != "request" or least >= long.longer_us or not (lengths <= long.longer_us).any():
        return long, None
    return long, scope_of(lengths, exposed, arrivals, longer_us=least, up_to_us=long.longer_us)


def _long_us(lengths_us: Floats, weight: float) -> float:
    """Return half the shortest of the longest pauses with that share of the sum of squares."""
    falling = np.sort(lengths_us)[::-1]
    squares = np.cumsum(falling**2)
    return float(falling[np.searchsorted(squares, weight * squares[-1])]) / 2.0


def _period(begins_us: Floats) -> tuple[float, tuple[float, float]] | None:
    """Return the period of the times with its 95 % interval (Rayleigh test); None if not periodic."""
    gaps = np.diff(begins_us)
    gaps = gaps[gaps > 0]
    if gaps.size < 2 * LEAST_HITS:
        return None
    usual = float(np.median(gaps))
    # Phases drift over many periods, so the period's error must be small compared with 1 / hits.
    near = gaps[(gaps > 0.8 * usual) & (gaps < 1.2 * usual)]
    if near.size < 0.5 * gaps.size:
        return None
    fine, turns = float(near.mean()), np.zeros(0)
    for _ in range(4):
        turns = np.round((begins_us - begins_us[0]) / fine)
        if turns[-1] < 1:
            return None
        fine = float(np.polyfit(turns, begins_us, 1)[0])
    if abs(np.exp(2j * np.pi * begins_us / fine).mean()) <= REGULAR:
        return None
    off = begins_us - np.polyval(np.polyfit(turns, begins_us, 1), turns)
    error = float(off.std(ddof=2)) / (float(turns.std()) * np.sqrt(turns.size))
    return fine, (fine - 1.96 * error, fine + 1.96 * error)
