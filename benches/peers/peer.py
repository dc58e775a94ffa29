"""What a peer is: where it comes from, how it is called, how its output is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

Protocol = Literal["memcached", "redis", "http"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)

KEY_BYTES, VALUE_BYTES, KEYS = 16, 32, 10_000
"""What every client asks a key-value server for, so that all replies are of one length: a short one, so that
many find room in what a capture keeps of a packet when a pipeline's replies share it."""
PAGE = "/index.html"
"""What every client asks nginx for: the preset's only file."""


@dataclass(frozen=True)
class Job:
    """One measurement: what a peer is asked to do.

    Parameters
    ----------
    address : str
        ``IP:PORT`` of the server.
    connections : int
        TCP connections, each with one request in flight unless the peer pipelines by itself.
    seconds : float
        Length of the load.
    rate : float or None
        Requests a second over all connections; None: flat out, closed loop.
    expected_per_s : float
        About how many requests a second it will make, for peers that count requests instead of seconds.
    folder : Path
        For the files that it needs; empty before.
    even : bool
        Requests at even distances, also by a peer that could draw the gaps from a distribution.
    seed : int
        For those that can be seeded.
    """

    address: str
    connections: int
    seconds: float
    rate: float | None
    expected_per_s: float
    folder: Path
    even: bool = False
    seed: int = 1

    @property
    def host(self) -> str:
        """Where the server listens."""
        return self.address.rpartition(":")[0]

    @property
    def port(self) -> str:
        """On which port."""
        return self.address.rpartition(":")[2]

    @property
    def url(self) -> str:
        """What HTTP clients get."""
        return f"http://{self.address}{PAGE}"

    @property
    def requests(self) -> int:
        """How many requests fill the time."""
        return round((self.rate or self.expected_per_s) * self.seconds)


@dataclass(frozen=True)
class Report:
    """What a peer said of itself.

    Parameters
    ----------
    requests : int
        Requests that were answered, as counted by the peer.
    per_s : float
        Requests a second, by the peer's own clock.
    errors : int
        Requests that failed.
    latency_us : mapping
        Of ``p50``, ``p99``, ``p99.9``, ``mean`` and ``max`` those that it reports, in microseconds.
    others_us : mapping
        Further distributions of the same requests, by name, where it tells several kinds of latency apart.
    busy_s : float or None
        Seconds of processor time that were not spinning, where it says so.
    cpu_s : float or None
        Seconds of processor time, where it counts them for the measurement alone.
    window_ns : (int, int) or None
        The measurement on the wall clock, where the load goes on outside it (warm-up).
    """

    requests: int
    per_s: float
    errors: int
    latency_us: Mapping[str, float]
    others_us: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    busy_s: float | None = None
    cpu_s: float | None = None
    window_ns: tuple[int, int] | None = None


class Unreadable(ValueError):
    """A peer's output is not what its parser knows; carries the end of it."""

    def __init__(self, peer: str, missing: str, text: str) -> None:
        super().__init__(f"{peer}: no {missing} in its output, which ends: {text[-300:]!r}")


@dataclass(frozen=True)
class Source:
    """Where a program comes from, pinned.

    Parameters
    ----------
    kind : {"debian", "cargo", "go", "here", "example"}
        ``here``: this very project. ``example``: an example of one of its crates.
    package : str
        Name in that registry.
    version : str
        For Debian, the upstream part of the version that the release has.
    program : str
        What is called.
    """

    kind: Literal["debian", "cargo", "go", "here", "example"]
    package: str
    version: str
    program: str


@dataclass(frozen=True)
class Peer:
    """A load tester.

    Parameters
    ----------
    name : str
        As in the table.
    protocol : {"memcached", "redis", "http"}
        What it speaks here.
    source : Source
        Where it comes from.
    command : callable
        From a job and the program to an argument list; may write files into the job's folder.
    read : callable
        From a job and the standard output to a `Report`.
    paced : bool
        Whether it can be asked for a rate.
    spread : float
        Coefficient of variation that gaps between requests have if they are as asked: 0 for even distances,
        1 for an exponential distribution.
    aside : tuple of str
        Of a variant of Hindmost, the only modes in which it is measured; see `rounds.Mode`.
    """

    name: str
    protocol: Protocol
    source: Source
    command: Callable[[Job, str], list[str]]
    read: Callable[[Job, str], Report]
    paced: bool = False
    spread: float = 0.0
    aside: tuple[str, ...] = ()


def environment() -> dict[str, str]:
    """Environment of every peer: numbers and dates in the C locale."""
    return {**os.environ, "LC_ALL": "C"}
