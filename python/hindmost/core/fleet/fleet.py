"""The interface of a fleet: places where clients run, and four verbs: start, order, hear, fetch.

::

    start     start all clients of a run, each at its place; none outlives the context
    order     send a command to a client; times are of its own host's clock
    hear      return new messages, waiting at most this long
    fetch     bring the clients' files into the run's folder, once all have ended

A fleet transports processes, messages and files. It decides nothing: `fleet.phases` decides when clients
proceed, and is the same for all fleets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hindmost.errors import HostLost

LOCAL = ""
"""The name of this host."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a client runs: a host, and its CPUs there (empty: any)."""

    host: str = LOCAL
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """One client: its engine plan, where it runs, and memory of this host in which it counts, if any."""

    plan: str
    place: Place = Place()
    counters: int | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of client ``index``: ``event`` is ``ready``, ``warm``, ``done``, ``failed``, or its progress.

    Its end is the event ``ended``, with ``who`` (in words), ``status`` (negative: killed by that signal) and
    ``words``, its standard error.
    """

    index: int
    event: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting at one level for one start of a server: ``what`` is a factor's table in a study file."""

    what: Mapping[str, Any]
    level: str


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """A server that runs on a host of the fleet: address, command, CPUs (empty: all) and version."""

    host: str
    address: str
    command: list[str]
    cpus: list[int]
    server_version: str | None


class Team(Protocol):
    """The started clients of one run.

    Attributes
    ----------
    offsets_ns : sequence of int
        For each client, its host's monotonic clock minus ours; measured at every start, because clocks drift
        apart by milliseconds per minute.
    ahead_ns : int
        How long before the named time an order must be given, to arrive in time.
    """

    @property
    def offsets_ns(self) -> Sequence[int]: ...  # noqa: D102 (see above)

    @property
    def ahead_ns(self) -> int: ...  # noqa: D102

    def order(self, index: int, command: dict[str, Any]) -> None:
        """Send an order to one client; if the client has ended, it has no effect."""

    def hear(self, timeout_s: float) -> list[Heard]:
        """Return new messages; wait for one, but no longer than this."""

    def fetch(self) -> None:
        """Bring the clients' files (``client-K.json`` and so on) into the run's folder, and nothing else.

        Raises
        ------
        InstanceError
            If a file cannot be fetched.
        """

    def record(self) -> dict[str, Any]:
        """Return the fleet's part of ``run.json``, after fetching; empty for this host alone."""


class Fleet(Protocol):
    """Where clients run.

    Attributes
    ----------
    hosts : sequence of str
        Names of its hosts.
    """

    @property
    def hosts(self) -> Sequence[str]: ...  # noqa: D102 (see above)

    def start(self, jobs: Sequence[Job], folder: Path) -> AbstractContextManager[Team]:
        """Start one client per job; leaving the context ends all that still run.

        Parameters
        ----------
        jobs : sequence of Job
            In the order of their numbers.
        folder : Path
            The run's folder, on this host.

        Raises
        ------
        InstanceError
            If a client cannot be started.
        """

    @property
    def serves(self) -> bool:
        """Whether servers that Hindmost starts run on a host of the fleet."""

    def serve(
        self, name: str, cpus: Sequence[int], settings: Sequence[Setting] = ()
    ) -> AbstractContextManager[RemoteServer]:
        """Start a server by a name known to its host; leaving the context stops it.

        Parameters
        ----------
        settings : sequence of Setting
            Settings in force on that host while the server runs, verified there, and restored.

        Raises
        ------
        TargetError
            If it does not start there.
        HostUnfit
            If a setting is not available there.
        """

    def recover_host(self, lost: HostLost, times: int) -> bool:
        """Bring a lost host back; return whether its run may be repeated.

        Parameters
        ----------
        times : int
            How often this run was void before.

        Raises
        ------
        InstanceError
            If the host does not return.
        """


def jobs_of(
    plans: Sequence[str], cpus: Sequence[Sequence[int]], hosts: Sequence[str], counters: int | None = None
) -> list[Job]:
    """Return one job per plan, on hosts in turn, with the CPUs of its number and common `counters`.

    Examples
    --------
    >>> [job.place for job in jobs_of(["{}"] * 3, [(1,), (2,)], ["a", "b"])]
    [Place(host='a', cpus=(1,)), Place(host='b', cpus=(2,)), Place(host='a', cpus=())]
    """
    return [
        Job(plan, Place(hosts[index % len(hosts)], tuple(cpus[index]) if index < len(cpus) else ()), counters)
        for index, plan in enumerate(plans)
    ]
