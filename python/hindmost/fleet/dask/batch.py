"""Pieces of a batch on their way to hosts and back, as tasks of Dask.

A host may be lost with a piece, stand still with it, or with the answer: each time another is asked. What
comes twice is taken once.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.errors import InstanceError
from hindmost.fleet.dask.pieces import Sizes
from hindmost.notes import Note

AT_A_TIME = 2
"""Pieces for each host: one at work, and one that waits, so that no host waits for the controller."""
LOSSES = 3
"""Give up on a piece after this many hosts were lost while computing it: the piece itself may crash them."""
LOOK_S = 1.0
"""As long as nothing arrives, whether any host is left is looked at so often."""
AWAY_S = 60.0
"""A piece that has been away for so long, some thirty times what it should take, is asked of another host as
well, once hosts have nothing else to do: the one that has it may stand still, which nothing else tells."""
Work = Callable[[Any, Sequence[Any]], list[Any]]


@dataclass
class Piece:
    """A stretch of items that a host was asked for."""

    first: int
    size: int
    lost: int
    """So many hosts were lost with it."""
    since_s: float
    asked_as_well: bool = False


class _NotHandedOverError(Exception):
    """An answer stays where it is."""


class Batch:
    """Items on their way: some under way as pieces, the others not yet cut."""

    def __init__(
        self,
        client: Any,  # noqa: ANN401 (distributed has few types)
        work: Work,
        shared: Any,  # noqa: ANN401
        items: Sequence[Any],
        hosts: int,
        say: Callable[[Note], None],
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
        self._asked: dict[Any, Piece] = {}
        """By future; two of them where a piece was asked of another host as well."""
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
            piece = self._asked.pop(future)
            found = self._result(future, piece)
            if found is not None:
                seconds, answers = found
                # Other hosts computing the same piece may keep running; their result is ignored.
                self._asked = {other: one for other, one in self._asked.items() if one.first != piece.first}
                self._sizes.learn(piece.size, seconds)
                self._done += piece.size
                yield piece.first, answers

    def _ask(self, first: int, size: int, lost: int) -> None:
        items = self._items[first : first + size]
        future = self._client.submit(timed, self._work, self._shared, items, pure=False)
        self._asked[future] = Piece(first, size, lost, time.monotonic())
        future.add_done_callback(self._ended.put)

    def _wait(self) -> Any:  # noqa: ANN401
        """The next future that ended, of those that are still of interest."""
        while True:
            try:
                future = self._ended.get(timeout=LOOK_S)
            except queue.Empty:
                if not workers(self._client):
                    raise self._none_left("host-lost", "the last one was lost") from None
                self._ask_as_well()
                continue
            if future in self._asked:
                return future

    def _ask_as_well(self) -> None:
        """Ask for what has been away for too long, once nothing else is left to ask for."""
        if self._next < len(self._items):
            return
        for piece in list(self._asked.values()):
            if not piece.asked_as_well and time.monotonic() - piece.since_s > AWAY_S:
                piece.asked_as_well = True
                self._say(
                    Note(
                        "slow-host",
                        f"a host has not returned {piece.size:,} of {len(self._items):,} points for"
                        f" {AWAY_S:.0f} s; another host computes them as well",
                        {"points": piece.size, "of": len(self._items), "seconds": AWAY_S},
                    )
                )
                self._ask(piece.first, piece.size, piece.lost)

    def _result(self, future: Any, piece: Piece) -> tuple[float, list[Any]] | None:  # noqa: ANN401
        """What a piece gave; None if its host was lost, and it was asked again."""
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        try:
            return self._fetched(future)
        except KilledWorker as error:
            self._ask_another(piece, getattr(error.last_worker, "name", None) or "unknown")
        except _NotHandedOverError:
            self._ask_another(piece, None)
        except CancelledError:
            raise self._none_left("no-scheduler", "the scheduler is gone") from None
        return None

    def _ask_another(self, piece: Piece, host: str | None) -> None:
        """Ask another host for a piece: `host` was lost with it, or, None, does not return its answer."""
        name = "the host that does not return its answer" if host is None else f"host {host}"
        count = f"{piece.size:,} of {len(self._items):,} points"
        values: dict[str, Any] = {"host": host, "points": piece.size, "of": len(self._items)}
        if not workers(self._client):
            raise self._none_left("host-lost", f"{name} was lost, the last one", host) from None
        if piece.lost + 1 >= LOSSES:
            raise InstanceError(
                "repeated-host-loss",
                f"{LOSSES} hosts were lost with the same {count}, last {name}: these points may crash them",
                hint="memory of the hosts: dmesg | grep -i oom, there; or fewer --requests",
                **values,
                losses=LOSSES,
            ) from None
        if host is None:
            text = f"a host does not return {count} that it computed; another host computes them"
        else:
            text = f"{name} was lost with {count}; another host computes them"
        self._say(Note("slow-host" if host is None else "host-lost", text, values))
        self._ask(piece.first, piece.size, piece.lost + 1)

    def _fetched(self, future: Any) -> tuple[float, list[Any]]:  # noqa: ANN401
        """What lies on the host that had the piece; computed anew where that host was lost meanwhile.

        Raises
        ------
        _NotHandedOverError
            If the host has not done so within `AWAY_S`: it may stand still.
        """
        if future.status in ("error", "cancelled"):
            future.result()  # says at once why there is none
        fetching = asyncio.run_coroutine_threadsafe(
            self._client.gather(future, asynchronous=True), self._client.loop.asyncio_loop
        )
        begun_s = time.monotonic()
        while not concurrent.futures.wait([fetching], LOOK_S).done:
            if not workers(self._client):
                fetching.cancel()
                raise self._none_left("host-lost", "the last one was lost")
            if time.monotonic() - begun_s > AWAY_S:
                fetching.cancel()
                raise _NotHandedOverError
        found: tuple[float, list[Any]] = fetching.result()
        return found

    def _none_left(self, reason: str, why: str, host: str | None = None) -> InstanceError:
        return InstanceError(
            "no-host-left",
            f"no host is left to compute on: {why}; {self._done:,} of {len(self._items):,} points were done",
            hint="run the command again when the hosts are back; without --fleet it runs here",
            reason=reason,
            done=self._done,
            of=len(self._items),
            host=host,
        )


def timed(work: Work, shared: Any, items: Sequence[Any]) -> tuple[float, list[Any]]:  # noqa: ANN401
    """One piece, on a host, and how many seconds it took there."""
    begun = time.monotonic()
    found = work(shared, items)
    return time.monotonic() - begun, found


def workers(client: Any) -> dict[str, Any]:  # noqa: ANN401
    """What the scheduler says of its workers, by address; none where it does not answer."""
    try:
        found: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    except (OSError, TimeoutError):  # it is gone, and its workers with it
        return {}
    return found
