"""Requests and their replies in a packet capture, matched by stream position."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hindmost import _engine
from hindmost.errors import StudyError

Column = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Exchanges:
    """Requests with their replies, in the order of `out_ns`.

    Attributes
    ----------
    flow : array of uint64, shape (n,)
        Number of the connection, an index of `flows`.
    out_ns, in_ns : array of uint64, shape (n,)
        Capture times of the packets with the last byte of the request and of the reply, in nanoseconds since
        the epoch (``CLOCK_REALTIME``).
    request_bytes, reply_bytes : array of uint64, shape (n,)
        Lengths of the messages, in bytes.
    outcome : array of uint64, shape (n,)
        0 hit (found, stored, served), 1 miss, 2 error. For HTTP as in a load without ``--accept``: 2xx is a
        hit, 404 and 410 are misses, everything else (also a redirection) is an error.
    flows : list of dict
        ``client``, ``server``, ``whole`` (captured from its first byte), ``read_exchanges``.
    counts : dict
        ``packets``, ``skipped``, ``cut``, ``repeated``, ``holes``, ``lost``, ``taken_back``, ``unanswered``,
        ``silent``. `crates/capture/src/exchanges.rs` defines each.
    """

    flow: Column
    out_ns: Column
    in_ns: Column
    request_bytes: Column
    reply_bytes: Column
    outcome: Column
    flows: list[dict[str, Any]]
    counts: dict[str, Any]

    def __len__(self) -> int:
        return len(self.flow)

    @property
    def wire_ns(self) -> npt.NDArray[np.int64]:
        """Wire time of each exchange, from the request's last byte to the reply's, in nanoseconds."""
        return self.in_ns.astype(np.int64) - self.out_ns.astype(np.int64)


def read_exchanges(path: Path | str, port: int, protocol: str) -> Exchanges:
    """Read all exchanges with the server's `port` from a pcap file.

    Parameters
    ----------
    path : path
        File written by ``tcpdump -w``, with microsecond or nanosecond time stamps. It must contain the first
        bytes of each value: a snap length of 256 suffices for small requests, and 0 (everything) always.
    port : int
        Port of the server.
    protocol : str
        ``memcached``, ``redis`` or ``http``.

    Raises
    ------
    StudyError
        If the file is not a capture, or damaged.
    """
    try:
        text, columns = _engine.capture_exchanges(str(path), port, protocol)
    except _engine.EngineError as error:
        raise StudyError(
            "bad-capture",
            f"cannot read the capture: {error.args[1]}",
            hint="use a pcap file written by tcpdump -w FILE",
            path=str(path),
        ) from None
    found = json.loads(text)
    flow, out_ns, in_ns, request_bytes, reply_bytes, outcome = (
        np.frombuffer(column, dtype=np.uint64) for column in columns
    )
    return Exchanges(
        flow, out_ns, in_ns, request_bytes, reply_bytes, outcome, flows=found["flows"], counts=found["counts"]
    )
