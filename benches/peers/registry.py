"""Who takes part, and who cannot be had."""

from __future__ import annotations

from benches.peers.ab import AB
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
from benches.peers.wrk import WRK

_ALL = (*HINDMOST, *NULL_CLIENT, MEMASLAP, REDIS_BENCHMARK, WRK, AB, H2LOAD, HEY, OHA, FORTIO, K6)
PEERS: tuple[Peer, ...] = tuple(sorted(_ALL, key=lambda peer: PROTOCOLS.index(peer.protocol)))
"""Everybody, by server, ours first."""

ABSENT: dict[str, str] = {
    "mutilate": "in no registry, and no package of Debian 12",
    "memtier_benchmark": "in no registry, and no package of Debian 12",
    "lancet": "in no registry: agents in C beside a coordinator that is no Go module by itself",
    "wrk2": "in no registry, and no package of Debian 12",
    "treadmill": "in no registry; needs headers that were never published",
    "rpc-perf": "2.0.3 of 2017 is the last that was published, and a crate that it needs is withdrawn",
    "vegeta": "a Go module that the module proxy did not give out",
    "bombardier": "a Go module that the module proxy did not give out",
}
"""Peers that were looked for and are not here, with the reason: as of November 2026."""
