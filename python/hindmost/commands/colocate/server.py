"""A server under load: started on its own CPU, and loaded by a probe's open loop in each window."""

from __future__ import annotations

import contextlib
import math
import shlex
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Self

from hindmost.commands.colocate.launch import LaunchedProgram
from hindmost.commands.colocate.supervision.windows import Windows
from hindmost.commands.watch.latency import LatencySource
from hindmost.commands.watch.probe import start_probe
from hindmost.errors import TargetError

_FIRST_ANSWER_S = 20.0
_SETTLE_S = 0.03
"""Load before a window, s: the connection is new, and the server was asleep."""
PERCENTILES = (0.5, 0.99)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The probe's results in one window.

    Attributes
    ----------
    requests, failed : int
    busy : float
        CPUs that the server used.
    p50_us, p99_us : float
        Latency from the scheduled time, µs.
    service_us : list of float
        Service time of each answered request in order: from the moment it could be sent to its reply, µs.
    """

    requests: int
    failed: int
    busy: float
    p50_us: float
    p99_us: float
    service_us: list[float] = field(default_factory=list)


class ServerUnderLoad:
    """A server that is started, and loaded at a fixed rate during windows.

    Its unit is an answered request, and its cost the server's CPU time. It has no real-time priority, and is
    not stopped between windows, because it sleeps without requests.

    Parameters
    ----------
    command : sequence of str
    cpu : int
        CPU of the server.
    source : LatencySource
        The probe.
    probe_cpu : int
        CPU of the probe.
    """

    name = "requests"
    hint = "use a server that stays in the foreground, answers at --probe-address, and can serve --probe"

    def __init__(self, command: Sequence[str], cpu: int, source: LatencySource, probe_cpu: int) -> None:
        self.command = list(command)
        probe = source.document["probe"]
        path = "" if probe.get("path", "/") == "/" else probe["path"]
        self.address, self.rate = f"{probe['protocol']}://{probe['address']}{path}", float(probe["rate"])
        self.probe_result: ProbeResult | None = None
        self._source, self._probe_cpu = source, probe_cpu
        if _listens(str(probe["address"])):
            raise TargetError(
                "address-in-use",
                f"another program answers at {self.address} before {self.command[0]} is started; the probe"
                " would measure that one",
                hint="stop it, or use another port for the program and in --probe-address",
                address=self.address,
            )
        self._program = LaunchedProgram(self.command, cpu)
        self.counts_children = self._program.cpu_time.counts_children
        self._load = ExitStack()
        self._windows: Windows | None = None
        self._answered, self._used_ns = 0, 0

    def __enter__(self) -> Self:
        """Wait until the server answers the probe."""
        end = time.monotonic() + _FIRST_ANSWER_S
        try:
            while True:
                self.count("before it answered the probe")
                try:
                    self.resume()
                    break
                except TargetError as error:
                    if time.monotonic() > end:
                        raise TargetError(
                            "no-answer",
                            f"{shlex.join(self.command)}: no answer after {_FIRST_ANSWER_S:g} s:"
                            f" {error.message}",
                            hint=self.hint,
                            command=self.command,
                            address=self.address,
                            limit=_FIRST_ANSWER_S,
                        ) from None
                    time.sleep(0.02)
            self.pause()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End the probe, then the server with all its descendants."""
        self._load.close()
        self._program.end()

    def resume(self) -> None:
        """Start the load; requests count from the end of this call."""
        probe = self._load.enter_context(start_probe(self._source, self._probe_cpu))
        time.sleep(_SETTLE_S)
        self._windows = Windows(probe, PERCENTILES[0], 0.0, self.rate, math.inf)
        self._windows.begin()
        self._began_ns = self._program.cpu_time.ns()

    def run_window(self, length_s: float) -> None:
        """Wait for the end of the window, and evaluate its requests."""
        windows = self._windows
        assert windows is not None
        windows.window_s = length_s
        time.sleep(length_s)
        used = self._program.cpu_time.ns() - self._began_ns
        windows.read_probe()
        window = windows.close()
        self._answered += window.requests - window.failed - window.waiting
        self._used_ns += used
        self.probe_result = ProbeResult(
            window.requests,
            window.failed,
            used / (length_s * 1e9),
            window.percentile(PERCENTILES[0]),
            window.percentile(PERCENTILES[1]),
            services(window.answered),
        )

    def pause(self) -> None:
        """Stop the load."""
        self._load.close()

    def count(self, when: str, window: int | None = None, beside: str | None = None) -> tuple[float, int]:
        """Return the requests answered in windows so far, and the server's CPU time in them, ns.

        Raises
        ------
        TargetError
            The server has ended.
        """
        if (ending := self._program.ending()) is not None:
            raise TargetError(
                "program-ended",
                f"{shlex.join(self.command)}: {ending} {when}",
                hint="use a command that serves in the foreground (memcached needs -u as root,"
                " nginx -g 'daemon off;'); run it alone and look at its stderr",
                command=self.command,
                **ending.fields,
                window=window,
                beside=beside,
            )
        return self._answered, self._used_ns


def services(answered: Sequence[tuple[int, float]]) -> list[float]:
    """Return the service times of sequential requests, without the time that each waited for the last, µs.

    Examples
    --------
    >>> services([(0, 30.0), (10_000, 60.0), (200_000, 5.0)])
    [30.0, 40.0, 5.0]
    """
    found, free = [], -math.inf
    for scheduled_ns, latency_us in answered:
        scheduled_us = scheduled_ns / 1e3
        end = scheduled_us + latency_us
        found.append(end - max(scheduled_us, free))
        free = end
    return found


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError), socket.create_connection((host.strip("[]"), int(port)), 1.0):
        return True
    return False
