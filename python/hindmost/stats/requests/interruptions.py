r"""Interruptions: periods in which others used the processor, and the quiet time between them.

An interruption leaves a backlog that outlasts it. Its size is known without looking at any latency. The
*virtual backlog*, in seconds of work, rises by rho per second while the processor is taken and falls by 1 -
rho while it is available::

    taken   ____####________##______________________________
    backlog ____/\______   /\
            ___/   \____\_/  \______________________________
    quiet   ~~~                  | relax |~~~~~~~~~~~~~~~~~~

A rule by the last interruption alone fails if interruptions cluster: at 70 % load and 15 % interference it
left p99 27 times too high. After a drain the queue is unusually short, so some relaxation times are waited as
well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindmost.errors import ArgumentError
from hindmost.stats.tables import Floats

Nanos = npt.NDArray[np.int64]

CAREFUL = 1.1
"""Factor on the utilisation for the backlog: an error of 10 % in it must not end a wait early."""

MOST_RHO = 0.98


@dataclass(frozen=True, slots=True)
class Interruptions:
    """Interruptions of a processor of the server or the client.

    Parameters
    ----------
    on, off : ndarray of int64, shape (k,)
        Begin and end of each in ns, sorted and disjoint. Use `of` for raw ones.
    seen_ns : float
        Length of the shortest interruption that would be seen. The bias of shorter ones remains in isolated
        latency.

    Examples
    --------
    >>> interruptions = Interruptions.from_times([5_000, 100, 5_500], [6_000, 300, 7_000], granularity_ns=50)
    >>> interruptions.on.tolist(), interruptions.off.tolist(), interruptions.taken(0, 10_000)
    ([50, 4950], [350, 7050], 0.24)
    """

    on: Nanos
    off: Nanos
    seen_ns: float = 0.0

    @classmethod
    def from_times(
        cls, on: npt.ArrayLike, off: npt.ArrayLike, *, granularity_ns: int = 0, seen_ns: float = 0.0
    ) -> Interruptions:
        """Sort interruptions of all processors: padded by the resolution of times, with overlaps merged.

        Raises
        ------
        ValueError
            If shapes differ, or an interruption ends before it begins.
        """
        begin, end = np.asarray(on, dtype=np.int64).ravel(), np.asarray(off, dtype=np.int64).ravel()
        if begin.shape != end.shape or (end < begin).any() or granularity_ns < 0:
            raise ArgumentError(
                "bad-argument",
                "each interruption needs a begin and an end, and must not end before it begins",
                argument="off",
            )
        order = np.argsort(begin, kind="stable")
        begin, end = begin[order] - granularity_ns, np.maximum.accumulate(end[order] + granularity_ns)
        first = np.ones(begin.size, dtype=bool)
        first[1:] = begin[1:] > end[:-1]
        last = np.append(first[1:], True)[: begin.size]
        return cls(begin[first], end[last], max(seen_ns, float(granularity_ns)))

    def __len__(self) -> int:
        return int(self.on.size)

    def taken(self, begin: int, end: int) -> float:
        """Return the share of [begin, end) that was taken."""
        lengths = np.clip(self.off, begin, end) - np.clip(self.on, begin, end)
        return float(lengths.sum() / (end - begin)) if end > begin else 0.0


@dataclass(frozen=True, slots=True)
class Service:
    """The server's load without interference. Rough estimates suffice.

    Parameters
    ----------
    utilisation : float
        Busy share without interference, all servers together, in [0, 1).
    mean_ns : float
        Mean service time.
    scv : float
        Squared coefficient of variation of service times: 1 for exponential. A value that is too large only
        excludes more requests.
    servers : int
        Number of threads or processes that serve in parallel.

    Raises
    ------
    ValueError
        If a value is impossible.
    """

    utilisation: float
    mean_ns: float
    scv: float = 4.0
    servers: int = 1

    def __post_init__(self) -> None:
        if not (
            0.0 <= self.utilisation < 1.0 and self.mean_ns > 0.0 and self.scv >= 0.0 and self.servers >= 1
        ):
            raise ArgumentError(
                "bad-argument",
                f"impossible server: utilisation {self.utilisation:g}, service {self.mean_ns:g} ns,"
                f" squared variation {self.scv:g}, {self.servers} servers",
                argument="utilisation",
                value=self.utilisation,
            )

    @property
    def relaxation_ns(self) -> float:
        """Time in which a queue forgets its start: S (1 + c^2) max(1, 1 / (servers (1 - rho)^2))."""
        queue = 1.0 / (self.servers * (1.0 - self.utilisation) ** 2)
        return self.mean_ns * (1.0 + self.scv) * max(1.0, queue)


def quiet_again(interruptions: Interruptions, service: Service, relaxations: float) -> Floats:
    """Return when each interruption has no more effect, in ns after the first one's begin. Never decreases.

    After the virtual backlog has drained, it waits `relaxations` times the relaxation time plus a third of
    the standard deviation of the drain: more requests than expected may arrive in a long interruption.
    (Without that deviation p99.9 was 1 to 5 % too high at 30 % load, 15 % stolen in 3 ms; with it at most 1
    %.)

    Examples
    --------
    >>> interruptions = Interruptions.from_times([0, 2_000], [1_000, 2_100])
    >>> quiet_again(interruptions, Service(0.5, 10.0), 0.0).round().tolist()  # 550 ns of work drain in 1,222
    [2222.0, 2444.0]
    """
    rho = min(MOST_RHO, CAREFUL * service.utilisation)
    rise = rho * (interruptions.off - interruptions.on)
    fall = np.zeros(len(interruptions))
    fall[1:] = (1.0 - rho) * (interruptions.on[1:] - interruptions.off[:-1])
    # Lindley's recursion v = max(0, v - fall) + rise, as a running minimum.
    before = np.concatenate([[0.0], np.cumsum(rise)[:-1]]) - np.cumsum(fall)
    least = np.minimum.accumulate(before)
    off = (interruptions.off - interruptions.on[:1]).astype(np.float64)
    drained = off + (before - least + rise) / (1.0 - rho)
    # The work that arrived since the backlog was last zero has the variance of a compound Poisson sum.
    since = np.maximum.accumulate(np.where(before <= least, interruptions.on - interruptions.on[:1], 0))
    work = rho * service.mean_ns * (1.0 + service.scv) / service.servers * (drained - since)
    wait = relaxations * (service.relaxation_ns + np.sqrt(work) / (1.0 - rho) / 3.0)
    return np.maximum.accumulate(drained + wait)
