"""The fleet of this machine: clients are child processes and write into the run's folder themselves."""

from __future__ import annotations

import selectors
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from hindmost.core.fleet.client import Client
from hindmost.core.fleet.fleet import LOCAL, Heard, Job, RemoteServer, Setting
from hindmost.errors import HostLost

AHEAD_NS = 100_000_000
"""Orders are given this long in advance, in ns, so that every client gets them in time (it listens ten times
per second, and at once when something arrives)."""


class LocalFleet:
    """Runs clients on this machine, on the CPUs of their places."""

    hosts: Sequence[str] = (LOCAL,)
    serves = False

    def serve(
        self, name: str, cpus: Sequence[int], settings: Sequence[Setting] = ()
    ) -> AbstractContextManager[RemoteServer]:
        """Not supported: `hindmost.core.targets` starts servers on this machine."""
        raise NotImplementedError

    @contextmanager
    def start(self, jobs: Sequence[Job], folder: Path) -> Iterator[LocalTeam]:
        """Start one process per job."""
        clients: list[Client] = []
        with selectors.DefaultSelector() as selector:
            try:
                for index, job in enumerate(jobs):
                    clients.append(Client(index, job.plan, folder, job.place.cpus, job.counters))
                    selector.register(clients[-1], selectors.EVENT_READ)
                yield LocalTeam(clients, selector)
            finally:
                for client in clients:
                    client.stop()

    def recover_host(self, lost: HostLost, times: int) -> bool:
        """Return False: this host cannot be lost."""
        return False


class LocalTeam:
    """Child processes; all have our clock."""

    ahead_ns = AHEAD_NS

    def __init__(self, clients: Sequence[Client], selector: selectors.BaseSelector) -> None:
        self._clients = clients
        self._selector = selector
        self.offsets_ns: Sequence[int] = [0] * len(clients)

    def order(self, index: int, command: dict[str, Any]) -> None:
        """Send an order through the client's standard input."""
        self._clients[index].tell(command)

    def hear(self, timeout_s: float) -> list[Heard]:
        """Return messages from the clients' standard outputs."""
        heard = []
        for key, _ in self._selector.select(timeout_s):
            client: Client = key.fileobj  # type: ignore[assignment]
            events = client.hear()
            heard += [Heard(client.index, event) for event in events]
            if events and events[-1]["event"] == "ended":
                self._selector.unregister(client)
        return heard

    def fetch(self) -> None:
        """Remove our own files; the clients' files are in place."""
        for client in self._clients:
            client.sweep()

    def record(self) -> dict[str, Any]:
        """Return nothing: other parts of the record describe this host."""
        return {}


HERE = LocalFleet()
"""The default fleet."""
