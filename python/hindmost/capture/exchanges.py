"""What a capture holds: requests with their replies, found by stream position."""

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
        When the packets with the last byte of the request and of the reply were seen, in nanoseconds since
        the epoch (``CLOCK_REALTIME``).
    request_bytes, reply_bytes : array of uint64, shape (n,)
        Lengths of the messages.
    outcome : array of uint64, shape (n,)
        0 hit (found, stored, served), 1 miss, 2 error. Of HTTP as a load without ``--accept`` has it: 2xx,
        404 and 410, all else (a redirection, too).
    flows : list of dict
        ``client``, ``server``, ``whole`` (seen from its first byte), ``exchanges``.
    counts : dict
        ``packets``, ``skipped``, ``cut``, ``repeated``, ``holes``, ``lost``, ``taken_back``, ``unanswered``,
        ``silent``; `crates/capture/src/exchanges.rs` says what each means.
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
        """Time on the wire of each: from the request's last byte to the reply's, in nanoseconds."""
        return self.in_ns.astype(np.int64) - self.out_ns.astype(np.int64)


def exchanges(path: Path | str, port: int, protocol: str) -> Exchanges:
    """Read all exchanges with the server's `port` out of a pcap file.

    Parameters
    ----------
    path : path
        Written by ``tcpdump -w``, in microseconds or nanoseconds. The first bytes of each value must have
        been kept: a snap length of 256 does for small requests, and 0 (everything) always.
    port : int
        The server's.
    protocol : str
        ``memcached``, ``redis`` or ``http``.

    Raises
    ------
    StudyError
        If it is no capture, or damaged.
    """
    try:
        text, columns = _engine.capture_exchanges(str(path), port, protocol)
    except _engine.EngineError as error:
        raise StudyError(
            "bad-capture",
            f"cannot read the capture: {error.args[1]}",
            hint="it must be a pcap file that tcpdump -w FILE wrote",
            path=str(path),
        ) from None
    found = json.loads(text)
    flow, out_ns, in_ns, request_bytes, reply_bytes, outcome = (
        np.frombuffer(column, dtype=np.uint64) for column in columns
    )
    return Exchanges(
        flow, out_ns, in_ns, request_bytes, reply_bytes, outcome, flows=found["flows"], counts=found["counts"]
    )
