"""Runs one client on one CPU, and measures the CPU cost of its load.

While the client runs, this process sleeps until its end (a pidfd), because it shares the client's CPU. Only
flat out, where latency does not matter, it wakes ten times a second to read CPU time and loopback traffic::

    traffic              ~~~~      ~~~~~~~~~~~~~~~~~~~~
                         keys      |<--  the load  -->|
    processor   start-up           |  used in between |  sorting, printing

so that start-up, filling the server and printing do not count as cost of requests: memaslap uses half a
second of CPU time before its first request.
"""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benches.peers.peer import environment
from hindmost import _engine

_TICK_S = 0.1
_FULL = 0.5
"""Traffic of at least this fraction of the maximum belongs to the load."""


@dataclass(frozen=True)
class Ran:
    """Exit status and cost of a client.

    `cpu_s` is user and system time of the whole process, `cpu_share` the fraction of a CPU that it used
    during its load (NaN unless it was watched).
    """

    out: str
    err: str
    status: int
    wall_s: float
    cpu_s: float
    cpu_share: float


class ClientFailed(RuntimeError):
    """A client failed or did not end."""


class Client:
    """A started client.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    cpu : int
        The only CPU that it may use.
    folder : Path
        Its working folder, which also receives its output.
    """

    def __init__(self, command: Sequence[str], cpu: int, folder: Path) -> None:
        self._command = command
        self._folder = folder
        self._begun = time.monotonic()
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment(),
                preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
            )

    def finish(self, patience_s: float, *, watch: bool = False) -> Ran:
        """Wait for its end.

        Parameters
        ----------
        patience_s : float
            Seconds before it is killed.
        watch : bool
            Whether to measure its `cpu_share`.

        Raises
        ------
        ClientFailed
            If its status is not 0, or it had to be killed.
        """
        ticks = []
        handle = os.pidfd_open(self._process.pid)
        deadline = time.monotonic() + patience_s
        ended = False
        try:
            while not ended and time.monotonic() < deadline:
                if watch:
                    ticks.append(_tick(self._process.pid))
                pause_s = _TICK_S if watch else patience_s
                ended = bool(select.select([handle], [], [], pause_s)[0])
        finally:
            os.close(handle)
        if not ended:
            os.kill(self._process.pid, signal.SIGKILL)
        _, status, used = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        ran = Ran(
            (self._folder / "stdout").read_text(errors="replace"),
            (self._folder / "stderr").read_text(errors="replace"),
            self._process.returncode,
            time.monotonic() - self._begun,
            used.ru_utime + used.ru_stime,
            share_of_load(ticks) if watch else math.nan,
        )
        if ran.status != 0:
            how = f"ended with status {ran.status}" if ended else f"was still running after {patience_s:g} s"
            last = (ran.err or ran.out)[-300:]
            raise ClientFailed(f"{' '.join(self._command)} {how}: {last!r}")
        return ran


@dataclass(frozen=True)
class Tick:
    """A sample of a client: monotonic clock and its CPU time in ns, bytes on loopback so far."""

    at_ns: int
    cpu_ns: int
    sent_bytes: int


def _tick(pid: int) -> Tick:
    loopback = Path("/sys/class/net/lo/statistics/tx_bytes").read_text(encoding="ascii")
    return Tick(_engine.monotonic_ns(), _engine.process_cpu_ns(pid) or 0, int(loopback))


def share_of_load(ticks: Sequence[Tick]) -> float:
    """Return the fraction of a CPU that a client used during its load: the longest full traffic without its
    edges.

    Examples
    --------
    Half a second of start-up, keys stored within a tenth of a second, one second of load at 60 % of a CPU:

    >>> cpu = [0, 100, 100, 160, 220, 280, 340, 340]
    >>> sent = [0, 0, 90, 180, 280, 370, 460, 460]
    >>> ticks = [Tick(100 * i, c, b) for i, (c, b) in enumerate(zip(cpu, sent))]
    >>> share_of_load(ticks)
    0.6
    """
    traffic = [b.sent_bytes - a.sent_bytes for a, b in pairwise(ticks)]
    least = _FULL * max(traffic, default=0)
    stretches: list[list[int]] = [[]]
    for index, amount in enumerate(traffic):
        if amount >= max(least, 1):
            stretches[-1].append(index)
        else:
            stretches.append([])
    longest = max(stretches, key=len)[1:-1]
    if not longest:
        return math.nan
    first, last = ticks[longest[0]], ticks[longest[-1] + 1]
    return (last.cpu_ns - first.cpu_ns) / (last.at_ns - first.at_ns)
