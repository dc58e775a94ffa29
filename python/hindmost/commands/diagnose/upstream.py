"""How long requests wait for the application's backends, from the kernel's socket tables. Nothing is changed.

::

    request ──> application ──> connection to a backend: data sent, no reply yet = one waiting call
    mean number of waiting calls = request rate x wait of a request        (Little 1961)

A backend explains an anomaly if requests wait for it longer than they once took in all, and most of the rest.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hindmost.commands.diagnose.netlink import ESTABLISHED, TcpSocket, open_link, tcp_sockets
from hindmost.core.notes import Note
from hindmost.core.plan.units import format_us
from hindmost.core.targets.procfs import listening_ports, process_tree, socket_inodes

if TYPE_CHECKING:
    from hindmost.commands.diagnose.windows import Windows

LOOK_S = 2.0
EXPLAINED = 0.5
"""Part of the slowdown that the wait must exceed, even if all normal latency was a wait for that backend."""
LEAST_CALLS, MOST_WAIT = 0.5, 1.2
"""Calls per request, and wait per call over a request's latency: outside these, the calls belong to no
request, as those of a worker that waits for jobs."""
Backend = tuple[str, int]
"""Address and port."""


@dataclass(slots=True)
class Waits:
    """Calls to backends that wait for a reply, over the samples so far.

    Attributes
    ----------
    samples : int
    waiting, replies : Counter
        Sum over the samples of waiting calls, and number of replies, by the backend's address and port.
    """

    samples: int = 0
    waiting: Counter[Backend] = field(default_factory=Counter)
    replies: Counter[Backend] = field(default_factory=Counter)
    _seen: dict[int, tuple[int, int, bool]] = field(default_factory=dict)
    """By connection: data segments received and sent, and whether a call waits."""

    def add(self, connections: Iterable[TcpSocket]) -> None:
        """Add one sample of the application's connections to backends.

        A call waits from its data until data are received. If both happened since the last sample, a call
        that waited was answered and another was sent, or a short call was made.
        """
        self.samples += 1
        seen = {}
        for one in connections:
            received, sent = one.data_segments
            before = self._seen.get(one.cookie, (0, 0, False))
            replied = received > before[0]
            waits = before[2] + (sent - before[1]) - (received - before[0]) > 0
            if replied and one.cookie not in self._seen:
                waits = False  # it is older than this sample, and may be idle
            seen[one.cookie] = (received, sent, waits)
            self.waiting[one.peer, one.there] += waits
            # What a connection received before the first sample is unknown.
            self.replies[one.peer, one.there] += replied and self.samples > 1
        self._seen = seen

    def slowest(self, least_replies: float) -> tuple[Backend, float] | None:
        """Return the backend with the most waiting calls, if it replied enough, and their mean number."""
        replied = [one for one, count in self.replies.items() if count >= least_replies]
        known = {one: self.waiting[one] for one in replied if self.waiting[one]}
        if not known:
            return None
        backend = max(known, key=lambda one: known[one])
        return backend, known[backend] / self.samples


def find_slow_upstream(pid: int, windows: Windows, normal_us: float, look_s: float = LOOK_S) -> Note | None:
    """Return the backend whose slowness explains the anomaly, if there is one; None if none is shown to.

    Parameters
    ----------
    pid : int
        The application's topmost process.
    windows : Windows
        With a running probe, and its counter of requests.
    normal_us : float
        Usual latency at the windows' quantile, µs.
    """
    own = process_tree(pid)
    ports = frozenset(listening_ports(own))
    waits = Waits()
    with open_link(pid) as link:

        def sample() -> None:
            inodes = socket_inodes(own)
            waits.add(
                one
                for one in tcp_sockets(link, ESTABLISHED)
                if one.inode in inodes and ports.isdisjoint((one.here, one.there))
            )

        latencies_us, per_s = _look(windows, look_s, sample)
    found = waits.slowest(max(1.0, LEAST_CALLS * per_s * look_s))
    if found is None or not latencies_us:
        return None
    (peer, port), waiting = found
    now_us = float(np.mean(latencies_us))
    # The usual mean, if the distribution has kept its shape.
    usual_us = normal_us * now_us / float(np.quantile(latencies_us, windows.quantile))
    wait_us = 1e6 * waiting / per_s
    if not usual_us + EXPLAINED * (now_us - usual_us) <= wait_us <= MOST_WAIT * now_us:
        return None
    wait_us = min(wait_us, now_us)
    text = (
        f"requests wait {format_us(wait_us)} of {format_us(now_us)} for the backend at {peer}:{port}, which"
        " experiments do not touch"
    )
    values = {"peer": f"{peer}:{port}", "wait_us": wait_us, "mean_us": now_us, "usual_us": usual_us}
    return Note("upstream-slow", text, values)


def _look(windows: Windows, seconds: float, sample: Callable[[], None]) -> tuple[list[float], float]:
    """Sample for `seconds`; return the probe's latencies, µs, and the rate of all requests, per second."""
    if windows.requests is not None:
        windows.requests.rates()
    begun = time.monotonic()
    latencies_us = windows.watch_probe(seconds, sample)
    took_s = time.monotonic() - begun
    others = 0.0 if windows.requests is None else float(windows.requests.rates()[0])
    return latencies_us, others + len(latencies_us) / took_s
