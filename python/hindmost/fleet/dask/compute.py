"""Statistics on the machines of a fleet: pieces of a batch as tasks of Dask, on hosts that are not measuring.

Here Dask does what it is for. Its workers take tasks, so they are other workers than those that measure
(`worker.py`), with the same certificates. Each host runs one piece at a time on all its processors, and the
next waits for it. A piece is the same wherever it is computed, so that one which a lost host had is asked of
another.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hindmost.errors import InstanceError, UsageError
from hindmost.fleet.dask import quiet
from hindmost.fleet.dask.channel import OwnChannel
from hindmost.fleet.dask.hosts import Hosts, parse_fleet
from hindmost.fleet.dask.pieces import Sizes
from hindmost.fleet.dask.version import identity, refuse_other
from hindmost.fleet.opening import need_dask

AT_A_TIME = 2
"""Pieces for each host: one at work, and one that waits, so that no host waits for the controller."""
LOSSES = 3
"""One piece that so many hosts were lost with is not asked of another: it may be what ends them."""
LOOK_S = 1.0
"""As long as nothing arrives, whether any host is left is looked at so often."""
CONNECT_S = 20.0
Work = Callable[[Any, Sequence[Any]], list[Any]]
Spread = Callable[[Work, Any, Sequence[Any]], Iterator[tuple[int, list[Any]]]]


@contextmanager
def computing(asked: str, say: Callable[[str], None] = lambda _: None) -> Iterator[Spread]:
    """Machines that compute, as ``--fleet`` names them.

    Gives a function of some work, what all items share, and the items. It yields what the work gives for
    stretches of items as they come, each with the place of its first.

    Parameters
    ----------
    say : callable, optional
        Told what a person should know: a host that was lost.

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
                f"no scheduler answers at {where}: {error}", hint="dask scheduler, there"
            ) from None
        with client:
            count = len(_workers(client))
            if not count:
                raise UsageError(f"{where} has no workers", hint=f"dask worker {where} --nthreads 1")
            _look_at(client)

            def spread(work: Work, shared: Any, items: Sequence[Any]) -> Iterator[tuple[int, list[Any]]]:  # noqa: ANN401
                yield from _Batch(client, work, shared, items, count, say).results()

            yield spread
    finally:
        if channel is not None:
            channel.close()


class _Batch:
    """Items on their way: some under way as pieces, the others not yet cut."""

    def __init__(
        self,
        client: Any,  # noqa: ANN401 (distributed has few types)
        work: Work,
        shared: Any,  # noqa: ANN401
        items: Sequence[Any],
        hosts: int,
        say: Callable[[str], None],
    ) -> None:
        self._client = client
        self._work = work
        # Goes along with each piece: what hosts keep for each other is waited for where one stands still.
        self._shared = shared
        self._items = items
        self._sizes = Sizes(AT_A_TIME * hosts)
        self._under_way = AT_A_TIME * hosts
        self._say = say
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._asked: dict[Any, tuple[int, int, int]] = {}
        """By future: first item, how many, and how many hosts were lost with them."""
        self._next = 0
        self._done = 0

    def results(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield them as they come."""
        while self._done < len(self._items):
            while self._next < len(self._items) and len(self._asked) < self._under_way:
                size = self._sizes.next(len(self._items) - self._next)
                self._ask(self._next, size, 0)
                self._next += size
            future = self._wait()
            first, size, lost = self._asked.pop(future)
            found = self._result(future, first, size, lost)
            if found is not None:
                seconds, answers = found
                self._sizes.learn(size, seconds)
                self._done += size
                yield first, answers

    def _ask(self, first: int, size: int, lost: int) -> None:
        piece = self._items[first : first + size]
        future = self._client.submit(timed, self._work, self._shared, piece, pure=False)
        self._asked[future] = (first, size, lost)
        future.add_done_callback(self._ended.put)

    def _wait(self) -> Any:  # noqa: ANN401
        """The next future that ended."""
        while True:
            try:
                return self._ended.get(timeout=LOOK_S)
            except queue.Empty:
                if not _workers(self._client):
                    raise self._none_left("the last one was lost") from None

    def _result(self, future: Any, first: int, size: int, lost: int) -> tuple[float, list[Any]] | None:  # noqa: ANN401
        """What a piece gave; None if its host was lost, and it was asked again."""
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        try:
            found = self._fetched(future)
        except KilledWorker as error:
            name = getattr(error.last_worker, "name", None) or "one"
            if not _workers(self._client):
                raise self._none_left(f"host {name} was lost, the last one") from None
            if lost + 1 >= LOSSES:
                raise InstanceError(
                    f"{LOSSES} hosts, the last of them {name}, were lost with the same {size:,} of"
                    f" {len(self._items):,} points: they may be what ends them",
                    hint="memory of the hosts: dmesg | grep -i oom, there; or fewer --requests",
                ) from None
            self._say(
                f"host {name} was lost with {size:,} of {len(self._items):,} points;"
                " another host is asked for them"
            )
            self._ask(first, size, lost + 1)
            return None
        except CancelledError:
            raise self._none_left("the scheduler is gone") from None
        return found

    def _fetched(self, future: Any) -> tuple[float, list[Any]]:  # noqa: ANN401
        """What lies on the host that had the piece; computed anew where that host was lost meanwhile."""
        if future.status in ("error", "cancelled"):
            future.result()  # says at once why there is none
        fetching = asyncio.run_coroutine_threadsafe(
            self._client.gather(future, asynchronous=True), self._client.loop.asyncio_loop
        )
        while not concurrent.futures.wait([fetching], LOOK_S).done:
            if not _workers(self._client):
                fetching.cancel()
                raise self._none_left("the last one was lost")
        found: tuple[float, list[Any]] = fetching.result()
        return found

    def _none_left(self, why: str) -> InstanceError:
        return InstanceError(
            f"no host is left to compute on: {why}; {self._done:,} of {len(self._items):,} points were done,"
            " and a batch with gaps is no answer",
            hint="the command again, once the hosts are there; without --fleet it is computed here",
        )


def timed(work: Work, shared: Any, items: Sequence[Any]) -> tuple[float, list[Any]]:  # noqa: ANN401
    """One piece, on a host, and how many seconds it took there."""
    begun = time.monotonic()
    found = work(shared, items)
    return time.monotonic() - begun, found


def _workers(client: Any) -> dict[str, Any]:  # noqa: ANN401
    try:
        found: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    except (OSError, TimeoutError):  # it is gone, and its workers with it
        return {}
    return found


def _look_at(client: Any) -> None:  # noqa: ANN401
    """Refuse hosts that would compute otherwise than we do."""
    names = {address: str(one["name"]) for address, one in _workers(client).items()}
    for address, said in client.run(identity, on_error="return").items():
        refuse_other(names.get(address, address), said)


def _all_of(hosts: Hosts) -> Hosts:
    """Every host, those without clients too; none serves."""
    return hosts.model_copy(update={"target": None})
