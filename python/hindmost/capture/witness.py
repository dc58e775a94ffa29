"""A capture next to one run, and the requests of that run that it saw.

::

    start ── connect ── warm-up ─────────────────┬── calibrate, measure ──────────┬── collect
    who opens a connection: sequence numbers     │ bytes, into the kernel's ring  │ drained, matched

Positions in a stream are told by sequence numbers, which count from the packets that open the connection.
These are few and are captured from the start; bytes only once the warm-up is over, so that the ring need not
hold it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import math
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hindmost import _engine
from hindmost.capture.tcpdump import Capture, Caught
from hindmost.errors import HindmostError

SNAPLEN = 96
"""Enough for Ethernet, IPv6 and TCP with its options: positions are in the headers."""
RING_MOST_KIB = 512 * 1024
"""The most memory that the kernel's ring may take."""
_RING_LEAST_KIB = 8 * 1024
_FRAME = 176
"""Bytes of ring that a packet of `SNAPLEN` bytes takes (packet(7): headers, address, alignment)."""
_SLACK = 1.5
_SPARE_S = 2.0
_OPENING_S = 5.0
"""For packets that open connections to be written: some hundred, unless they come faster than they are."""


class Witness:
    """Captures one run; a context manager, which leaves no process and no pcap file behind.

    Parameters
    ----------
    place : Path
        The run's folder.
    address : str
        Where the server listens.
    rate_per_s : float
        Requests a second to make room for, of the connections that are witnessed.
    seconds : float
        Length of calibration and measurement.
    cpus : sequence of int
        Where tcpdump may run: never on a client's processor.

    Raises
    ------
    HostUnfit
        On entering, if nothing can be captured here.
    """

    def __init__(
        self, place: Path, address: str, rate_per_s: float, seconds: float, cpus: Sequence[int] = ()
    ) -> None:
        self.port = int(address.rpartition(":")[2])
        self.place = place
        interface = interface_of(address)
        self._opening = Capture(
            place / "opening.pcap",
            self.port,
            interface=interface,
            snaplen=SNAPLEN,
            ring_kib=_RING_LEAST_KIB,
            packets="opening",
            cpus=cpus,
        )
        self._bytes = Capture(
            place / "bytes.pcap",
            self.port,
            interface=interface,
            snaplen=SNAPLEN,
            ring_kib=room(rate_per_s, seconds),
            cpus=cpus,
        )
        self._caught: list[Caught] = []

    def __enter__(self) -> Self:
        self._opening.__enter__()
        self._opening.hold()
        return self

    def measuring(self, ports: Sequence[int] = ()) -> None:
        """The warm-up is over, and the measurement has not been ordered yet.

        Parameters
        ----------
        ports : sequence of int, optional
            Ports of the connections that are witnessed; default: all.

        Raises
        ------
        HindmostError
            If the capture cannot be started.
        """
        self._bytes.client_ports = ports
        # The load goes on meanwhile: a connection opened between the two captures would be in neither.
        self._bytes.__enter__()
        self._caught.append(self._opening.finish(_OPENING_S))
        # Not before: on a busy host that took seconds, for which the ring has no room.
        self._bytes.hold()

    def over(self) -> None:
        """The measurement is over."""
        self._caught.append(self._bytes.finish())

    def matched(self, instances: int) -> dict[str, Any]:
        """Match every instance's requests; writes ``witness-K.parquet``.

        Returns
        -------
        dict
            ``connections`` (None: all), ``captured``, ``dropped``, ``whole``, ``answered``, ``matched``,
            ``stamped``.

        Raises
        ------
        HindmostError
            If it cannot be matched.
        """
        counts = {"answered": 0, "matched": 0, "stamped": 0}
        for index in range(instances):
            try:
                found = json.loads(
                    _engine.match_capture(
                        [str(one.path) for one in self._caught],
                        self.port,
                        str(self.place / f"samples-{index}.parquet"),
                        str(self.place / f"witness-{index}.parquet"),
                    )
                )
            except _engine.EngineError as error:
                raise HindmostError(
                    "bad-capture",
                    f"cannot match the capture with the requests: {error.args[1]}",
                    path=str(self.place),
                ) from None
            for name in counts:
                counts[name] += found[name]
        return {
            "connections": len(self._bytes.client_ports) or None,
            "captured": sum(one.captured for one in self._caught),
            "dropped": sum(one.dropped for one in self._caught),
            "whole": len(self._caught) == 2 and all(one.whole for one in self._caught),
            **counts,
        }

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in (self._opening, self._bytes):
            one.__exit__(kind, error, trace)
            with contextlib.suppress(OSError):
                one.path.unlink(missing_ok=True)


def room(rate_per_s: float, seconds: float) -> int:
    """KiB of ring for a measurement.

    Examples
    --------
    >>> room(1_000, 10.0)
    8192
    >>> room(20_000, 10.5)
    128907
    """
    need = math.ceil(2 * _FRAME * _SLACK * rate_per_s * (seconds + _SPARE_S) / 1024)
    return min(RING_MOST_KIB, max(_RING_LEAST_KIB, need))


def interface_of(address: str) -> str:
    """Where packets to ``HOST:PORT`` are seen.

    >>> interface_of("127.0.0.1:80"), interface_of("[::1]:80"), interface_of("192.0.2.1:80")
    ('lo', 'lo', 'any')
    """
    host = address.rpartition(":")[0].strip("[]")
    try:
        return "lo" if ipaddress.ip_address(host).is_loopback else "any"
    except ValueError:
        return "lo" if host == "localhost" else "any"
