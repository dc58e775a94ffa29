"""What a packet capture saw of a client: when its requests left, and how long each was on its way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benches.peers.peer import VALUE_BYTES, Protocol
from benches.peers.samples import figures
from hindmost.capture import read_exchanges

_FEWEST, _LEAST = 100, 0.99
"""A capture that shows fewer exchanges than this, or than this share of them, tells nothing of the others."""


@dataclass(frozen=True)
class Wire:
    """One measurement as the capture saw it.

    Parameters
    ----------
    requests : int
        Requests with their replies.
    per_s : float
        Requests a second between the first and the last.
    spread : float
        Coefficient of variation of the gaps between requests, over all connections.
    latency_us : mapping
        Quantiles, mean and maximum of reply - request, microseconds.
    replies : mapping
        How many replies there were of each length in bytes.
    lost : int
        Times that a connection's messages could not be followed, and were taken up again later.
    """

    requests: int
    per_s: float
    spread: float
    latency_us: Mapping[str, float]
    replies: Mapping[str, int]
    lost: int


def heard(
    pcap: Path, port: int, protocol: Protocol, answered: int, window_ns: tuple[int, int] | None
) -> Wire:
    """Read a capture.

    Parameters
    ----------
    answered : int
        How many requests the peer says were answered.
    window_ns : (int, int) or None
        Only requests sent within, on the wall clock; None: all of them.

    Raises
    ------
    ValueError
        If it does not show nearly all of them.
    """
    seen = read_exchanges(pcap, port, protocol)
    keep = np.ones(seen.out_ns.size, dtype=bool)
    if protocol != "http":
        keep &= seen.reply_bytes > VALUE_BYTES  # hits: neither stores nor what is asked of the server itself
    if window_ns is not None:
        keep &= (seen.out_ns >= window_ns[0]) & (seen.out_ns < window_ns[1])
    if keep.sum() < max(_FEWEST, _LEAST * answered):
        raise ValueError(
            f"the capture shows only {keep.sum():,} of {answered:,} requests: messages were lost track of"
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
