"""The fleet of one machine: clients are child processes, and write into the run's folder themselves."""

from __future__ import annotations

import selectors
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from hindmost.errors import HostLost
from hindmost.fleet.fleet import LOCAL, Heard, Job, Served, Setting
from hindmost.fleet.instance import Instance

AHEAD_NS = 100_000_000
"""Orders name a moment this far ahead, so that every client has heard them in time (it listens ten
times a second, and at once when something comes)."""


class LocalFleet:
    """Runs clients on this machine, on the processors of their places."""

    hosts: Sequence[str] = (LOCAL,)
    serves = False

    def serve(
        self, name: str, cpus: Sequence[int], settings: Sequence[Setting] = ()
    ) -> AbstractContextManager[Served]:
        """Servers here are the matter of `hindmost.targets`."""
        raise NotImplementedError

    @contextmanager
    def start(self, jobs: Sequence[Job], folder: Path) -> Iterator[LocalTeam]:
        """Start one process a job."""
        instances: list[Instance] = []
        with selectors.DefaultSelector() as selector:
            try:
                for index, job in enumerate(jobs):
                    instances.append(Instance(index, job.plan, folder, job.place.cpus))
                    selector.register(instances[-1], selectors.EVENT_READ)
                yield LocalTeam(instances, selector)
            finally:
                for one in instances:
                    one.stop()

    def mended(self, lost: HostLost, times: int) -> bool:
        """No: where this host is lost nobody asks."""
        return False


class LocalTeam:
    """Child processes; all have our clock."""

    ahead_ns = AHEAD_NS

    def __init__(self, instances: Sequence[Instance], selector: selectors.BaseSelector) -> None:
        self._instances = instances
        self._selector = selector
        self.offsets_ns: Sequence[int] = [0] * len(instances)

    def order(self, index: int, command: dict[str, Any]) -> None:
        """Through its standard input."""
        self._instances[index].tell(command)

    def hear(self, timeout_s: float) -> list[Heard]:
        """From their standard outputs."""
        heard = []
        for key, _ in self._selector.select(timeout_s):
            one: Instance = key.fileobj  # type: ignore[assignment]
            events = one.hear()
            heard += [Heard(one.index, event) for event in events]
            if events and events[-1]["event"] == "ended":
                self._selector.unregister(one)
        return heard

    def fetch(self) -> None:
        """Their files are where they belong; ours next to them go."""
        for one in self._instances:
            one.sweep()

    def record(self) -> dict[str, Any]:
        """All is said of this host elsewhere."""
        return {}


HERE = LocalFleet()
"""What runs where nothing else is said."""
