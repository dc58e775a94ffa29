"""First and last stamp of a trace compared with the kernel's stamps of the same packets:
``benches/trace_stamps.py``.

::

    e1 ═ came           queued ──► e6 ──► sent
    stamp of arrival    before the queue   in the driver      (Documentation/networking/timestamping.rst)

The server is this program: the kernel stamps incoming packets of its socket, which is the stamp that a
capture on a network card shows, and outgoing packets twice. All stamps belong to the packets that the trace
saw, so a busy host shifts none of them relative to the others. The driver stamps after the probe at e6 has
run: the distance between queued and sent without a trace shows how much of it the probe causes.
"""

from __future__ import annotations

import json
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hindmost import _engine

SO_TIMESTAMPING = 37
SOFTWARE_OUT, SOFTWARE_IN, REPORTED, NUMBERED, QUEUED, BARE = 1 << 1, 1 << 3, 1 << 4, 1 << 7, 1 << 8, 1 << 11
"""In the driver; at arrival; delivered to us; with the byte's number; before the queue; without the
packet."""
SENT, BEFORE_QUEUE = 0, 1
"""Kinds of stamps of a sent packet (SCM_TSTAMP_SND, SCM_TSTAMP_SCHED)."""
Ancillary = list[tuple[int, int, bytes]]


@dataclass(frozen=True)
class RequestStamps:
    """Stamps of each request's packets in ns of CLOCK_REALTIME: the kernel's, and the trace's."""

    came: np.ndarray
    queued: np.ndarray
    sent: np.ndarray
    e1: np.ndarray
    e6: np.ndarray


def stamp_in(ancillary: Ancillary) -> int | None:
    """Return the stamp that came with a message; the first packets may have none (see `wait_for_stamps`)."""
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPING):
            seconds, ns = struct.unpack("qq", data[:16])
            return int(seconds * 10**9 + ns) or None
    return None


class Conversation:
    """A client, and a server that answers each byte with one."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._client, self._server = client, server
        self._bytes = 0
        flags = SOFTWARE_OUT | SOFTWARE_IN | REPORTED | NUMBERED | QUEUED | BARE
        server.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, flags)

    def wait_for_stamps(self) -> None:
        """Exchange bytes until packets are stamped: the kernel enables stamping in a worker."""
        deadline = time.monotonic() + 10
        while None in self.exchange():
            assert time.monotonic() < deadline, "the kernel does not stamp packets"
            time.sleep(0.01)

    def exchange(self) -> tuple[int | None, int | None, int | None]:
        """Exchange one request and answer; return the stamps of its arrival, and of the answer's queue and
        driver."""
        self._client.sendall(b"?")
        _, ancillary, _, _ = self._server.recvmsg(16, 512)
        self._server.sendall(b"!")
        assert self._client.recv(16) == b"!"
        out = {what: at for what, byte, at in self._out() if byte == self._bytes}
        self._bytes += 1
        return stamp_in(ancillary), out.get(BEFORE_QUEUE), out.get(SENT)

    def _out(self) -> Iterator[tuple[int, int, int | None]]:
        """Yield for each sent byte: kind of stamp, byte number, time."""
        while True:
            try:
                _, ancillary, _, _ = self._server.recvmsg(64, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            (error,) = (data for level, _, data in ancillary if level == socket.IPPROTO_IP)
            what, byte = struct.unpack("8xII", error[:16])  # struct sock_extended_err
            yield what, byte, stamp_in(ancillary)


@contextmanager
def conversation() -> Iterator[tuple[int, Conversation]]:
    """Yield the port of a server and a conversation with it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        with socket.create_connection(address, timeout=20) as client:
            server, _ = listening.accept()
            with server:
                found = Conversation(client, server)
                found.wait_for_stamps()
                yield address[1], found


def collect_stamps(requests: int, folder: Path, *, traced: bool = True) -> RequestStamps:
    """Run this many requests; return the kernel's stamps and the trace's."""
    records, document = folder / "records.parquet", None
    with conversation() as (port, talk):
        trace = (
            _engine.Trace(port, '"exchange"', block_ns=10**8, every=1, records=records) if traced else None
        )
        stamps: Any = [talk.exchange() for _ in range(requests)]
        if trace is not None:
            document = json.loads(trace.end())
    came, queued, sent = np.array(stamps, dtype=np.int64).T
    if document is None:
        return RequestStamps(came, queued, sent, *np.zeros((2, 0), dtype=np.int64))
    assert document["counts"]["done"] == requests, document["counts"]
    columns = _engine.read_columns(str(records), ["network_ns", "left_ns"])
    e1, e6 = (np.frombuffer(one, dtype=np.int64) + document["realtime_ahead_ns"] for one in columns)
    return RequestStamps(came, queued, sent, e1, e6)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        bare = collect_stamps(5_000, Path(folder), traced=False)
        seen = collect_stamps(5_000, Path(folder))
    rows = {
        "e1 - came": seen.e1 - seen.came,
        "e6 - queued": seen.e6 - seen.queued,
        "sent - e6": seen.sent - seen.e6,
        "sent - queued, traced": seen.sent - seen.queued,
        "sent - queued, without": bare.sent - bare.queued,
    }
    for name, ns in rows.items():
        p1, q1, middle, q3, p99 = np.quantile(ns, [0.01, 0.25, 0.5, 0.75, 0.99])
        print(
            f"{name:<24} median {middle:5.0f} ns, IQR {q3 - q1:4.0f} ns, p1 {p1:5.0f} ns, p99 {p99:5.0f} ns"
        )


if __name__ == "__main__":
    main()
