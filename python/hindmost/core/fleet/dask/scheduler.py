"""A channel through a running scheduler (SLURM, Kubernetes, or started by hand)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hindmost.core.fleet.dask.channel import ThreadedChannel
from hindmost.core.fleet.dask.hosts import Hosts
from hindmost.core.fleet.dask.link import Link
from hindmost.core.fleet.dask.ssh import host_of
from hindmost.errors import ClientError, HostLost

CONNECT_S = 60.0


class SchedulerChannel(ThreadedChannel):
    """Uses each worker of the scheduler as a host, by its name.

    Parameters
    ----------
    work : str, optional
        What its workers compute (`compute.computing`); workers that measure do not compute.

    Raises
    ------
    UsageError
        If the scheduler cannot be reached or has no workers.
    """

    def __init__(self, hosts: Hosts, work: str | None = None) -> None:
        super().__init__()
        assert hosts.scheduler is not None
        self._where = hosts.scheduler
        self._addresses: dict[str, str] = {}
        self._lost: set[str] = set()
        try:
            self.do(self._open(work), CONNECT_S)
        except BaseException:
            self.close()
            raise
        self.hosts: Sequence[str] = tuple(self._addresses)

    async def _open(self, work: str | None) -> None:
        self.broker = await Link.start({"scheduler": self._where, "work": work})
        if work:
            await self.broker.ask("computing", int)
            return
        self._addresses = await self.broker.ask("workers", dict[str, str])

    def _route(self, host: str) -> dict[str, Any]:
        if host in self._lost:  # the scheduler would retry until its own timeout
            raise HostLost(host, "it was lost earlier")
        return {"public": self.signer.public}

    def _lose(self, host: str) -> None:
        self._lost.add(host)

    def address_of(self, host: str) -> str:
        """Return the address that its worker gave the scheduler."""
        return host_of(self._addresses[host])

    def restart_worker(self, name: str) -> None:
        """Raise an error: only the person who started the worker can start another."""
        raise ClientError(
            "host-lost",
            f"host {name} was lost, and only the person who started its worker can start another",
            hint=f"dask worker {self._where} --nthreads 1 --no-nanny --name {name}",
            host=name,
            address=self._where,
        )

    def set_resting(self, *, resting: bool) -> None:
        """Do nothing: the timers are the client's, and its heartbeat is an hour."""

    def close(self) -> None:
        """Disconnect; everything started on hosts was stopped before."""
        self._end()
