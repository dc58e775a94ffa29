"""Statistics on the machines of a fleet: pieces of a batch as tasks of Dask, on hosts that are not measuring.

Here Dask does what it is for. Its workers take tasks, so they are other workers than those that measure
(`worker.py`), with the same certificates. Each host runs one piece at a time on all its processors. A piece
is the same wherever it is computed, so that one which a lost host had is computed elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from hindmost import _engine
from hindmost.errors import InstanceError, UsageError
from hindmost.fleet.dask.channel import OwnChannel
from hindmost.fleet.dask.hosts import Hosts, parse_fleet
from hindmost.fleet.opening import need_dask

PIECES_EACH = 4
"""Pieces a host: enough that a fast one does more, few enough that crossing costs little."""
CONNECT_S = 20.0
Simulate = Callable[[str, Sequence[str]], Iterator[str]]


@contextmanager
def computing(asked: str) -> Iterator[tuple[Simulate, int]]:
    """Machines that compute, as ``--fleet`` names them; gives how to simulate pieces there, and how many.

    Raises
    ------
    UsageError
        If they cannot be meant, or a scheduler has no workers.
    InstanceError
        If a host cannot be reached.
    """
    need_dask()
    from distributed import Client

    hosts = parse_fleet(asked)
    channel = None if hosts.scheduler else OwnChannel(_all_of(hosts), computes=True)
    try:
        where = hosts.scheduler if channel is None else channel.address
        security = None if channel is None else channel.security
        with Client(where, security=security, timeout=CONNECT_S) as client:  # type: ignore[no-untyped-call]
            count = len(client.scheduler_info(n_workers=-1)["workers"])
            if not count:
                raise UsageError(f"{where} has no workers", hint=f"dask worker {where} --nthreads 1")

            def simulate(document: str, designs: Sequence[str]) -> Iterator[str]:
                told = client.scatter(document, broadcast=True)
                tasks = [client.submit(piece, told, one, pure=False, retries=2) for one in designs]
                for task in tasks:
                    yield _result(task)

            yield simulate, PIECES_EACH * count
    finally:
        if channel is not None:
            channel.close()


def piece(document: str, design: str) -> str:
    """One piece, on a host."""
    return _engine.simulate(document, design)


def _result(task: object) -> str:
    from distributed.scheduler import KilledWorker

    try:
        found: str = task.result()  # type: ignore[attr-defined]
    except KilledWorker as error:
        raise InstanceError(
            f"hosts were lost, one after the other, with one piece of the batch: {error}",
            hint="fewer points at once",
        ) from None
    return found


def _all_of(hosts: Hosts) -> Hosts:
    """Every host, those without clients too; none serves."""
    return hosts.model_copy(update={"target": None})
