"""Description of a peer: source, command line, output parser."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

Protocol = Literal["memcached", "redis", "http"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)

KEY_BYTES, VALUE_BYTES, KEYS = 16, 32, 10_000
"""Keys and values of every client on a key-value server. All replies have the same short length, so that many
pipelined replies fit into the captured part of a packet."""
PAGE = "/index.html"
"""The page that every client requests from nginx: the preset's only file."""


@dataclass(frozen=True)
class Job:
    """One measurement as requested from a peer.

    Parameters
    ----------
    address : str
        ``IP:PORT`` of the server.
    connections : int
        TCP connections, each with one request in flight unless the peer pipelines.
    seconds : float
        Length of the load.
    rate : float or None
        Total rate in requests/s; None: flat out, closed loop.
    expected_per_s : float
        Approximate rate, for peers that take a number of requests instead of seconds.
    folder : Path
        Folder for its files; initially empty.
    even : bool
        Whether arrivals are even, also for a peer that could draw gaps from a distribution.
    seed : int
        Random seed, for peers that accept one.
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
        """Return the address of the server."""
        return self.address.rpartition(":")[0]

    @property
    def port(self) -> str:
        """Return the port of the server."""
        return self.address.rpartition(":")[2]

    @property
    def url(self) -> str:
        """Return the URL for HTTP clients."""
        return f"http://{self.address}{PAGE}"

    @property
    def requests(self) -> int:
        """Return the number of requests that fill the time."""
        return round((self.rate or self.expected_per_s) * self.seconds)


@dataclass(frozen=True)
class Report:
    """The results that a peer reports.

    Parameters
    ----------
    requests : int
        Answered requests, as counted by the peer.
    per_s : float
        Rate in requests/s, by the peer's own clock.
    errors : int
        Failed requests.
    latency_us : mapping
        Those of ``p50``, ``p99``, ``p99.9``, ``mean`` and ``max`` that it reports, in microseconds.
    others_us : mapping
        Further distributions of the same requests, by name, if it reports several kinds of latency.
    busy_s : float or None
        CPU seconds without spinning, if it reports them.
    cpu_s : float or None
        CPU seconds of the measurement alone, if it reports them.
    window_ns : (int, int) or None
        Wall clock time of the measurement, if the load is longer (warm-up).
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
    """A peer's output has an unknown form; carries the end of it."""

    def __init__(self, peer: str, missing: str, text: str) -> None:
        super().__init__(f"{peer}: no {missing} in its output, which ends: {text[-300:]!r}")


@dataclass(frozen=True)
class Source:
    """The pinned source of a program.

    Parameters
    ----------
    kind : {"debian", "cargo", "go", "here", "example"}
        ``here``: this project. ``example``: an example of one of its crates.
    package : str
        Name in that registry.
    version : str
        For Debian, the upstream part of the release's version.
    program : str
        Name of the executable.
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
        Protocol of the measurement.
    source : Source
        Source of the program.
    command : callable
        Function of job and program that returns an argument list; may write files to the job's folder.
    read : callable
        Function of job and standard output that returns a `Report`.
    paced : bool
        Whether it accepts a rate.
    spread : float
        Coefficient of variation of the gaps between requests if they are as requested: 0 for even arrivals, 1
        for
            an exponential distribution.
    aside : tuple of str
        For a variant of Hindmost, the only modes in which it is measured; see `rounds.Mode`.
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
    """Return the environment of every peer: numbers and dates in the C locale."""
    return {**os.environ, "LC_ALL": "C"}
