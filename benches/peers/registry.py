"""The peers, and load testers that could not be installed."""

from __future__ import annotations

from benches.peers.ab import AB
from benches.peers.bombardier import BOMBARDIER
from benches.peers.fortio import FORTIO
from benches.peers.h2load import H2LOAD
from benches.peers.hey import HEY
from benches.peers.k6 import K6
from benches.peers.memaslap import MEMASLAP
from benches.peers.null_client import NULL_CLIENT
from benches.peers.oha import OHA
from benches.peers.ourselves import HINDMOST
from benches.peers.peer import PROTOCOLS, Peer
from benches.peers.redis_benchmark import REDIS_BENCHMARK
from benches.peers.vegeta import VEGETA
from benches.peers.wrk import WRK

_ALL = (
    *HINDMOST,
    *NULL_CLIENT,
    MEMASLAP,
    REDIS_BENCHMARK,
    WRK,
    AB,
    H2LOAD,
    HEY,
    OHA,
    FORTIO,
    VEGETA,
    BOMBARDIER,
    K6,
)
PEERS: tuple[Peer, ...] = tuple(sorted(_ALL, key=lambda peer: PROTOCOLS.index(peer.protocol)))
"""All peers by server, ours first."""

ABSENT: dict[str, str] = {
    "mutilate": "in no registry, and not in Debian 12",
    "memtier_benchmark": "in no registry, and not in Debian 12",
    "lancet": "in no registry: C agents with a coordinator that is not a Go module",
    "wrk2": "in no registry, and not in Debian 12",
    "treadmill": "in no registry; needs headers that were never published",
    "rpc-perf": "the last release is 2.0.3 of 2017, and a crate that it needs is withdrawn",
}
"""Peers that are missing, with the reason, as of November 2026."""
