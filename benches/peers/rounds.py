"""The measurements of each round: all clients in every round, in a newly drawn order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from benches.peers.peer import PROTOCOLS, Peer, Protocol

Mode = Literal["flat", "heard", "10%", "50%", "freeze", "send_delay"]
SHARES: dict[Mode, float] = {"10%": 0.1, "50%": 0.5}


@dataclass(frozen=True)
class Step:
    """One measurement.

    Parameters
    ----------
    mode : {"flat", "heard", "10%", "50%", "freeze", "delay"}
        ``flat``: flat out, without other programs. ``heard``: flat out with a capture, for clients without a
        rate
            option, and ours. ``10%``, ``50%``: that fraction of the server's capacity, with a capture.
        ``freeze``: the
            server is frozen for a tenth of a second. ``send_delay``: ours only, the send delay at 50,000
        requests/s.
    """

    round: int
    protocol: Protocol
    mode: Mode
    peer: Peer

    @property
    def key(self) -> tuple[int, str, str, str]:
        """Return the identity of the measurement."""
        return (self.round, self.protocol, self.mode, self.peer.name)


def modes(peer: Peer, number: int, freezes: int) -> list[Mode]:
    """Return the modes of a peer in round `number`."""
    if peer.aside:
        return [mode for mode in get_args(Mode) if mode in peer.aside]
    found: list[Mode] = ["flat"]
    if peer.paced:
        found += ["10%", "50%"]
    if not peer.paced or peer.name == "hindmost":
        found.append("heard")
    if number <= freezes:
        found.append("freeze")
    if peer.protocol == "memcached" and peer.name == "hindmost":
        found.append("send_delay")
    return found


def steps(peers: Sequence[Peer], rounds: int, freezes: int, seed: int) -> Iterator[list[Step]]:
    """Yield all measurements that share one start of one server, round by round."""
    draw = random.Random(seed)
    for number in range(1, rounds + 1):
        for protocol in PROTOCOLS:
            block = [
                Step(number, protocol, mode, peer)
                for peer in peers
                if peer.protocol == protocol
                for mode in modes(peer, number, freezes)
            ]
            draw.shuffle(block)
            if block:
                yield block
