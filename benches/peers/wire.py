"""Results of a packet capture of a client: when its requests left, and their latency on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benches.peers.peer import VALUE_BYTES, Protocol
from benches.peers.samples import figures
from hindmost.core.capture import read_exchanges

_FEWEST, _LEAST = 100, 0.99
"""A capture with fewer exchanges than this, or with less than this fraction of them, is not
representative."""


@dataclass(frozen=True)
class Wire:
    """One measurement as captured.

    Parameters
    ----------
    requests : int
        Number of requests with replies.
    per_s : float
        Rate in requests/s between the first and the last.
    spread : float
        Coefficient of variation of the gaps between requests, over all connections.
    latency_us : mapping
        Quantiles, mean and maximum of reply - request, microseconds.
    replies : mapping
        Number of replies of each length in bytes.
    lost : int
        How often the messages of a connection could not be followed for a while.
    """

    requests: int
    per_s: float
    spread: float
    latency_us: Mapping[str, float]
    replies: Mapping[str, int]
    lost: int


def read_capture(
    pcap: Path, port: int, protocol: Protocol, answered: int, window_ns: tuple[int, int] | None
) -> Wire:
    """Read a capture.

    Parameters
    ----------
    answered : int
        Number of answered requests by the peer's count.
    window_ns : (int, int) or None
        Wall clock times; only requests sent between them count. None: all.

    Raises
    ------
    ValueError
        If it lacks more than a few of them.
    """
    seen = read_exchanges(pcap, port, protocol)
    keep = np.ones(seen.out_ns.size, dtype=bool)
    if protocol != "http":
        keep &= seen.reply_bytes > VALUE_BYTES  # hits only: neither sets nor administrative commands
    if window_ns is not None:
        keep &= (seen.out_ns >= window_ns[0]) & (seen.out_ns < window_ns[1])
    if keep.sum() < max(_FEWEST, _LEAST * answered):
        raise ValueError(
            f"the capture shows only {keep.sum():,} of {answered:,} requests: messages could not be followed"
            f" {seen.counts['lost'] + seen.counts['holes']} times"
        )
    out_ns = seen.out_ns[keep].astype(np.int64)
    gaps = np.diff(out_ns)
    lengths, counts = np.unique(seen.reply_bytes[keep], return_counts=True)
    return Wire(
        requests=out_ns.size,
        per_s=float(1e9 / gaps.mean()),
        spread=float(gaps.std() / gaps.mean()),
        latency_us=figures(seen.wire_ns[keep] / 1e3),
        replies={str(length): int(count) for length, count in zip(lengths, counts, strict=True)},
        lost=seen.counts["lost"] + seen.counts["holes"],
    )
