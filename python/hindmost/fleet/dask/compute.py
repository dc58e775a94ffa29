"""Statistics on the machines of a fleet: pieces of a batch as tasks of Dask, on hosts that are not measuring.

Here Dask does what it is for. Its workers take tasks, so they are other workers than those that measure
(`worker.py`), with the same certificates. Each host runs one piece at a time on all its processors, and the
next waits for it. A piece is the same wherever it is computed, so that one which a lost host had is asked of
another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hindmost.errors import UsageError
from hindmost.fleet.dask import quiet
from hindmost.fleet.dask.batch import Batch, Work, workers
from hindmost.fleet.dask.channel import OwnChannel
from hindmost.fleet.dask.hosts import Hosts, parse_fleet
from hindmost.fleet.dask.version import identity, refuse_other
from hindmost.fleet.opening import need_dask
from hindmost.notes import Note

CONNECT_S = 20.0
Spread = Callable[[Work, Any, Sequence[Any]], Iterator[tuple[int, list[Any]]]]


@contextmanager
def computing(asked: str, say: Callable[[Note], None] = lambda _: None) -> Iterator[Spread]:
    """Machines that compute, as ``--fleet`` names them.

    Gives a function of some work, what all items share, and the items. It yields what the work gives for
    stretches of items as they come, each with the place of its first.

    Parameters
    ----------
    say : callable, optional
        Given a note when a host is lost or slow.

    Raises
    ------
    UsageError
        If they cannot be meant, or a scheduler has no workers.
    InstanceError
        If a host cannot be reached, or has another version or engine.
    """
    need_dask()
    from distributed import Client

    hosts = parse_fleet(asked)
    quiet.still()
    channel = None if hosts.scheduler else OwnChannel(_all_of(hosts), computes=True)
    try:
        where = hosts.scheduler if channel is None else channel.address
        security = None if channel is None else channel.security
        try:
            client = Client(where, security=security, timeout=CONNECT_S)  # type: ignore[no-untyped-call]
        except (OSError, TimeoutError) as error:
            raise UsageError(
                "no-scheduler",
                f"no scheduler answers at {where}: {error}",
                hint="dask scheduler, there",
                address=where,
            ) from None
        with client:
            count = len(workers(client))
            if not count:
                raise UsageError(
                    "no-workers",
                    f"the scheduler at {where} has no workers",
                    hint=f"dask worker {where} --nthreads 1",
                    address=where,
                )
            _look_at(client)

            def spread(work: Work, shared: Any, items: Sequence[Any]) -> Iterator[tuple[int, list[Any]]]:  # noqa: ANN401
                yield from Batch(client, work, shared, items, count, say).results()

            yield spread
    finally:
        if channel is not None:
            channel.close()


def _look_at(client: Any) -> None:  # noqa: ANN401
    """Refuse hosts that would compute otherwise than we do."""
    names = {address: str(one["name"]) for address, one in workers(client).items()}
    for address, said in client.run(identity, on_error="return").items():
        refuse_other(names.get(address, address), said)


def _all_of(hosts: Hosts) -> Hosts:
    """Every host, those without clients too; none serves."""
    return hosts.model_copy(update={"target": None})
