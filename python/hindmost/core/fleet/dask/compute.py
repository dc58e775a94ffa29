"""Statistics on the machines of a fleet: pieces of a batch as Dask tasks, on hosts that do not measure.

These workers take tasks, so they are separate from the workers that measure (`worker.py`), with the same
certificates. Each host computes one piece at a time on all its CPUs, and the next waits there. A piece gives
the same result on every host, so the piece of a lost host is sent to another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hindmost.core.fleet.dask.channel import OwnChannel
from hindmost.core.fleet.dask.hosts import Hosts, parse_fleet
from hindmost.core.fleet.dask.replies import bad_reply
from hindmost.core.fleet.dask.scheduler import SchedulerChannel
from hindmost.core.fleet.opening import need_dask
from hindmost.core.notes import Note

Spread = Callable[[Any, Sequence[Any]], Iterator[tuple[int, list[Any]]]]


@contextmanager
def computing(fleet: str, work: str, say: Callable[[Note], None] = lambda _: None) -> Iterator[Spread]:
    """Provide the machines of ``--fleet`` for computing.

    Yields a function of the data shared by all items, and the items. It yields the results of ranges of items
    as they arrive, each with the index of its first item.

    Parameters
    ----------
    work : str
        The name of a function, ``package.module:function``, of the shared data and some items. These and its
        results, a list with one result per item, are plain data. The caller checks the results.
    say : callable, optional
        Called with a note when a host is lost or slow.

    Raises
    ------
    UsageError
        If the fleet is invalid, or a scheduler has no workers.
    InstanceError
        If a host cannot be reached, or has another version or engine.
    """
    need_dask()
    hosts = parse_fleet(fleet)
    channel = SchedulerChannel(hosts, work) if hosts.scheduler else OwnChannel(_without_target(hosts), work)

    def spread(shared: Any, items: Sequence[Any]) -> Iterator[tuple[int, list[Any]]]:  # noqa: ANN401
        for first, results in channel.compute(shared, items, say):
            if not isinstance(results, list) or not 0 <= first <= len(items) - len(results):
                raise bad_reply("unknown", "compute", f"no {len(items)} results, or another's")
            yield first, results

    try:
        yield spread
    finally:
        channel.close()


def _without_target(hosts: Hosts) -> Hosts:
    """Return all hosts, including those without clients; none runs a server."""
    return hosts.model_copy(update={"target": None})
