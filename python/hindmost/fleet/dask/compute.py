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

from hindmost.fleet.dask.channel import OwnChannel
from hindmost.fleet.dask.given import GivenChannel
from hindmost.fleet.dask.hosts import Hosts, parse_fleet
from hindmost.fleet.dask.replies import bad_reply
from hindmost.fleet.opening import need_dask
from hindmost.notes import Note

Spread = Callable[[Any, Sequence[Any]], Iterator[tuple[int, list[Any]]]]


@contextmanager
def computing(asked: str, work: str, say: Callable[[Note], None] = lambda _: None) -> Iterator[Spread]:
    """Machines that compute, as ``--fleet`` names them.

    Gives a function of what all items share, and the items. It yields what the work gives for stretches of
    items as they come, each with the place of its first.

    Parameters
    ----------
    work : str
        A function by its name, ``package.module:function``, of what is shared and some items. These and what
        it gives, a list of one thing an item, are plain data. Whoever calls checks what comes.
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
    hosts = parse_fleet(asked)
    channel = GivenChannel(hosts, work) if hosts.scheduler else OwnChannel(_all_of(hosts), work)

    def spread(shared: Any, items: Sequence[Any]) -> Iterator[tuple[int, list[Any]]]:  # noqa: ANN401
        for first, found in channel.compute(shared, items, say):
            if not isinstance(found, list) or not 0 <= first <= len(items) - len(found):
                raise bad_reply("unknown", "compute", f"no {len(items)} results, or another's")
            yield first, found

    try:
        yield spread
    finally:
        channel.close()


def _all_of(hosts: Hosts) -> Hosts:
    """Every host, those without clients too; none serves."""
    return hosts.model_copy(update={"target": None})
