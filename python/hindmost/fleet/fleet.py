"""What a fleet is: places where load clients run, and four verbs: start, order, hear, fetch.

::

    start     all clients of a run, each at its place; whatever happens, none outlives the context
    order     say something to one of them; moments are of its own host's clock
    hear      what they said since, waiting at most so long
    fetch     their files into the run's folder, once all have ended

A fleet brings processes to places and words and files back. It decides nothing: when clients go on is the
matter of `fleet.phases`, which is the same for all fleets.
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
    """Where a client runs: a host, and its processors there (none: wherever the host likes)."""

    host: str = LOCAL
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """One client: its engine plan, and where it runs."""

    plan: str
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class Heard:
    """What client ``index`` said: ``event`` is ``ready``, ``warm``, ``done``, ``failed``, or its progress.

    Its end comes as ``ended``, with ``who`` (in words), ``status`` (negative: killed by that signal) and
    ``words``, what it wrote to standard error.
    """

    index: int
    event: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """A knob at one of its levels for one start of a server: ``what`` is a factor's table in a study file."""

    what: Mapping[str, Any]
    level: str


@dataclass(frozen=True, slots=True)
class Served:
    """A server that runs on a host of the fleet.

    Where it listens, how it was started, on which processors (none: all), what it says it is.
    """

    host: str
    address: str
    command: list[str]
    cpus: list[int]
    server_version: str | None


class Team(Protocol):
    """The clients of one run, started.

    Attributes
    ----------
    offsets_ns : sequence of int
        Of each client, the monotonic clock of its host less ours; measured anew at every start, since
        clocks drift apart by milliseconds a minute.
    ahead_ns : int
        An order that names a moment must be given so long before it, to be heard in time.
    """

    @property
    def offsets_ns(self) -> Sequence[int]: ...  # noqa: D102 (see above)

    @property
    def ahead_ns(self) -> int: ...  # noqa: D102

    def order(self, index: int, command: dict[str, Any]) -> None:
        """Say something to one client; one that is gone does not hear it."""

    def hear(self, timeout_s: float) -> list[Heard]:
        """What was said; waits until something is, but no longer than that."""

    def fetch(self) -> None:
        """Bring what each wrote (``instance-K.json`` and so on) into the run's folder, and nothing else.

        Raises
        ------
        InstanceError
            If something cannot be had.
        """

    def record(self) -> dict[str, Any]:
        """What ``run.json`` says of the fleet, once all was fetched; nothing of this host alone."""


class Fleet(Protocol):
    """Where load clients run.

    Attributes
    ----------
    hosts : sequence of str
        Names of its hosts.
    """

    @property
    def hosts(self) -> Sequence[str]: ...  # noqa: D102 (see above)

    def start(self, jobs: Sequence[Job], folder: Path) -> AbstractContextManager[Team]:
        """Start one client a job; leaving the context ends all that still run.

        Parameters
        ----------
        jobs : sequence of Job
            In the order of their numbers.
        folder : Path
            The run's folder, on this host.

        Raises
        ------
        InstanceError
            If one cannot be started.
        """

    @property
    def serves(self) -> bool:
        """Whether a server that Hindmost starts is started on a host of the fleet."""

    def serve(
        self, name: str, cpus: Sequence[int], settings: Sequence[Setting] = ()
    ) -> AbstractContextManager[Served]:
        """Start a server that its host knows by this name; leaving the context stops it.

        Parameters
        ----------
        settings : sequence of Setting
            In force on that host as long as the server runs, verified there, and put back.

        Raises
        ------
        TargetError
            If it does not start there.
        HostUnfit
            If a setting cannot be had there.
        """

    def mended(self, lost: HostLost, times: int) -> bool:
        """Whether a host that was lost in a run is there again, and the run may be made again.

        Parameters
        ----------
        times : int
            How often this run was void before.

        Raises
        ------
        InstanceError
            If the host cannot be had.
        """


def jobs_of(plans: Sequence[str], cpus: Sequence[Sequence[int]], hosts: Sequence[str]) -> list[Job]:
    """One job a plan, on hosts in turn, with the processors of its number.

    Examples
    --------
    >>> [job.place for job in jobs_of(["{}"] * 3, [(1,), (2,)], ["a", "b"])]
    [Place(host='a', cpus=(1,)), Place(host='b', cpus=(2,)), Place(host='a', cpus=())]
    """
    return [
        Job(plan, Place(hosts[index % len(hosts)], tuple(cpus[index]) if index < len(cpus) else ()))
        for index, plan in enumerate(plans)
    ]
