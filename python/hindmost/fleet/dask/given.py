"""The workers of a scheduler that runs already (SLURM, Kubernetes, by hand)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from hindmost.errors import InstanceError, UsageError
from hindmost.fleet.dask import quiet
from hindmost.fleet.dask.channel import CLOSE_S, _Threaded, host_of
from hindmost.fleet.dask.hosts import Hosts

CONNECT_S = 10.0


class GivenChannel(_Threaded):
    """Each worker of the scheduler is a host, by its name.

    Raises
    ------
    UsageError
        If the scheduler cannot be reached or has no workers.
    """

    def __init__(self, hosts: Hosts) -> None:
        super().__init__()
        assert hosts.scheduler is not None
        self._where = hosts.scheduler
        self._client: Any = None
        self._addresses: dict[str, str] = {}
        self._lost: set[str] = set()
        try:
            self._do(self._open(), 3 * CONNECT_S)
        except BaseException:
            self.close()
            raise
        self.hosts: Sequence[str] = tuple(self._addresses)

    async def _open(self) -> None:
        import dask
        from distributed import Client

        quiet.still()
        dask.config.set({"distributed.client.heartbeat": "1h"})
        try:
            self._client = await Client(  # type: ignore[no-untyped-call]
                self._where, asynchronous=True, timeout=CONNECT_S
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(
                "no-scheduler",
                f"no scheduler answers at {self._where}: {error}",
                hint="dask scheduler, there; for tls:// both ends need certificates: distributed.comm.tls in"
                " Dask's configuration",
                address=self._where,
            ) from None
        workers = (await self._client.scheduler.identity(n_workers=-1))["workers"]
        if not workers:
            raise UsageError(
                "no-workers",
                f"the scheduler at {self._where} has no workers",
                hint=f"on each load host: dask worker {self._where} --nthreads 1 --no-nanny --name HOST",
                address=self._where,
            )
        for address, one in workers.items():
            name = str(one["name"])
            if name in self._addresses:
                raise UsageError(
                    "duplicate-name",
                    f"two workers of {self._where} are named {name!r}",
                    hint="dask worker --name",
                    address=self._where,
                    name=name,
                )
            self._addresses[name] = address

    async def _tell(self, host: str, text: str, signature: str) -> dict[str, Any]:
        from hindmost.fleet.dask.host import obey_within

        if host in self._lost:  # the scheduler would try to connect for as long as it is set to
            raise OSError("it was lost before")
        address = self._addresses[host]
        try:
            answers = await self._client.run(
                obey_within, host, self.signer.public, text, signature, workers=[address], on_error="return"
            )
        except ImportError as error:
            text = f"host {host} has no Hindmost: {error}"
            raise InstanceError("missing-hindmost", text, host=host) from None
        answer = answers.get(address, OSError("it is not among the scheduler's workers any more"))
        if isinstance(answer, ImportError | AttributeError):
            raise InstanceError(
                "missing-hindmost",
                f"host {host} has no Hindmost of this version: {answer}",
                hint="pip install 'hindmost[fleet]' there",
                host=host,
            )
        if isinstance(answer, OSError):
            self._lost.add(host)
        if isinstance(answer, BaseException):
            raise answer
        found: dict[str, Any] = answer
        return found

    def address_of(self, host: str) -> str:
        """As its worker told the scheduler."""
        return host_of(self._addresses[host])

    def bring_again(self, name: str) -> None:
        """Whoever started it may do so again; we cannot."""
        raise InstanceError(
            "host-lost",
            f"host {name} was lost, and only the person who started its worker can start another",
            hint=f"dask worker {self._where} --nthreads 1 --no-nanny --name {name}",
            host=name,
            address=self._where,
        )

    def rest(self, *, resting: bool) -> None:
        """Its timers are the client's; its heartbeat is an hour."""

    def close(self) -> None:
        """Leave; what was begun on hosts was stopped before."""

        async def work() -> None:
            if self._client is not None:
                await self._client.close()

        with contextlib.suppress(Exception):
            self._do(asyncio.wait_for(work(), CLOSE_S))
        self._end()
