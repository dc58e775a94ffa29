"""A packet capture next to one run, and the run's requests in it.

::

    start ── connect ── warm-up ─────────────────┬── calibrate, measure ──────────┬── collect
    opening packets: sequence numbers            │ bytes, into the kernel's ring  │ drained, matched

A position in a stream is relative to the sequence number of the packet that opens the connection. These
packets are few and are captured from the start. Data packets are captured only after the warm-up, so that the
ring need not hold the warm-up.
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
from hindmost.core.capture.tcpdump import Capture, FinishedCapture
from hindmost.errors import HindmostError

SNAPLEN = 96
"""Bytes to keep of a packet: enough for Ethernet, IPv6 and TCP with options. Positions are in the headers."""
RING_MOST_KIB = 512 * 1024
"""Largest size of the kernel's ring, in KiB."""
_RING_LEAST_KIB = 8 * 1024
_FRAME = 176
"""Bytes of ring space for a packet of `SNAPLEN` bytes (packet(7): headers, address, alignment)."""
_SLACK = 1.5
_SPARE_S = 2.0
_OPENING_S = 5.0
"""Time to write the packets that open connections, in seconds. There are usually a few hundred."""


class RunCapture:
    """Capture of one run, as a context manager that leaves no process and no pcap file behind.

    Parameters
    ----------
    place : Path
        The run's folder.
    address : str
        Address on which the server listens.
    rate_per_s : float
        Rate of the captured connections, in requests per second. It sets the ring's size.
    seconds : float
        Length of calibration and measurement.
    cpus : sequence of int
        CPUs on which tcpdump may run: never a client's.

    Raises
    ------
    HostUnfit
        On entering, if capturing is impossible here.
    """

    def __init__(
        self, place: Path, address: str, rate_per_s: float, seconds: float, cpus: Sequence[int] = ()
    ) -> None:
        self.port = int(address.rpartition(":")[2])
        self.place = place
        interface = interface_for(address)
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
            ring_kib=ring_size_kib(rate_per_s, seconds),
            cpus=cpus,
        )
        self._finished: list[FinishedCapture] = []

    def __enter__(self) -> Self:
        self._opening.__enter__()
        self._opening.pause()
        return self

    def start(self, ports: Sequence[int] = ()) -> None:
        """Start to capture data packets. Call it after the warm-up and before the order to measure.

        Parameters
        ----------
        ports : sequence of int, optional
            Client ports of the connections to capture. Default: all.

        Raises
        ------
        HindmostError
            If the capture cannot be started.
        """
        self._bytes.client_ports = ports
        # Both captures overlap: otherwise a connection opened between them, under load, would be in neither.
        self._bytes.__enter__()
        self._finished.append(self._opening.finish(_OPENING_S))
        # Pause only now: on a busy host the line above took seconds, for which the ring has no space.
        self._bytes.pause()

    def finish(self) -> None:
        """Finish the capture. Call it after the measurement."""
        self._finished.append(self._bytes.finish())

    def match(self, clients: int) -> dict[str, Any]:
        """Match every client's requests, and write ``witness-K.parquet``.

        Returns
        -------
        dict
            ``connections`` (None: all), ``captured``, ``dropped``, ``whole``, ``answered``, ``matched``,
            ``stamped``.

        Raises
        ------
        HindmostError
            If the capture cannot be matched.
        """
        counts = {"answered": 0, "matched": 0, "stamped": 0}
        for index in range(clients):
            try:
                found = json.loads(
                    _engine.match_capture(
                        [str(one.path) for one in self._finished],
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
            "captured": sum(one.captured for one in self._finished),
            "dropped": sum(one.dropped for one in self._finished),
            "whole": len(self._finished) == 2 and all(one.whole for one in self._finished),
            **counts,
        }

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in (self._opening, self._bytes):
            one.__exit__(kind, error, trace)
            with contextlib.suppress(OSError):
                one.path.unlink(missing_ok=True)


def ring_size_kib(rate_per_s: float, seconds: float) -> int:
    """Return the ring's size for a measurement, in KiB.

    Examples
    --------
    >>> ring_size_kib(1_000, 10.0)
    8192
    >>> ring_size_kib(20_000, 10.5)
    128907
    """
    need = math.ceil(2 * _FRAME * _SLACK * rate_per_s * (seconds + _SPARE_S) / 1024)
    return min(RING_MOST_KIB, max(_RING_LEAST_KIB, need))


def interface_for(address: str) -> str:
    """Return the interface on which packets to ``HOST:PORT`` can be captured.

    >>> interface_for("127.0.0.1:80"), interface_for("[::1]:80"), interface_for("192.0.2.1:80")
    ('lo', 'lo', 'any')
    """
    host = address.rpartition(":")[0].strip("[]")
    try:
        return "lo" if ipaddress.ip_address(host).is_loopback else "any"
    except ValueError:
        return "lo" if host == "localhost" else "any"
