"""Sends the pieces of a batch to hosts as Dask tasks and collects the results.

A host may be lost with a piece, or hang before or after computing it; then another host gets the piece.
Duplicate results are ignored.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.core.fleet.dask.pieces import Sizes
from hindmost.core.notes import Note
from hindmost.errors import ClientError

AT_A_TIME = 2
"""Pieces per host: one in progress and one queued, so that no host waits for the controller."""
LOSSES = 3
"""Give up on a piece after this many hosts were lost while computing it: the piece itself may crash them."""
LOOK_S = 1.0
"""How often to check, while nothing arrives, whether any host is left."""
AWAY_S = 60.0
"""A piece outstanding for this long, about thirty times its expected duration, is also given to another host
once no other work is left: its host may hang, which nothing else shows."""
Work = Callable[[Any, Sequence[Any]], list[Any]]


@dataclass
class Piece:
    """A range of items sent to a host."""

    first: int
    size: int
    lost: int
    """Number of hosts lost with it."""
    since_s: float
    duplicated: bool = False


class _NotHandedOverError(Exception):
    """A host does not return a result."""


class Batch:
    """Items in progress: some sent as pieces, the others not yet divided."""

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
        # Sent with each piece: Dask waits for shared data if the host that stores it hangs.
        self._shared = shared
        self._items = items
        self._sizes = Sizes(AT_A_TIME * hosts)
        self._under_way = AT_A_TIME * hosts
        self._say = say
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._pieces: dict[Any, Piece] = {}
        """By future; a piece sent to two hosts has two."""
        self._next = 0
        self._done = 0

    def results(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield results as they arrive, each with the index of its first item."""
        while self._done < len(self._items):
            while self._next < len(self._items) and len(self._pieces) < self._under_way:
                size = self._sizes.next(len(self._items) - self._next)
                self._send(self._next, size, 0)
                self._next += size
            future = self._wait()
            piece = self._pieces.pop(future)
            result = self._result(future, piece)
            if result is not None:
                seconds, answers = result
                # Other hosts computing the same piece may keep running; their result is ignored.
                self._pieces = {f: other for f, other in self._pieces.items() if other.first != piece.first}
                self._sizes.learn(piece.size, seconds)
                self._done += piece.size
                yield piece.first, answers

    def _send(self, first: int, size: int, lost: int) -> None:
        items = self._items[first : first + size]
        future = self._client.submit(run_timed, self._work, self._shared, items, pure=False)
        self._pieces[future] = Piece(first, size, lost, time.monotonic())
        future.add_done_callback(self._finished.put)

    def _wait(self) -> Any:  # noqa: ANN401
        """Wait for the next finished future whose result is still needed."""
        while True:
            try:
                future = self._finished.get(timeout=LOOK_S)
            except queue.Empty:
                if not workers(self._client):
                    raise self._none_left("host-lost", "the last one was lost") from None
                self._duplicate_late_pieces()
                continue
            if future in self._pieces:
                return future

    def _duplicate_late_pieces(self) -> None:
        """Send late pieces to another host, once nothing else is left to send."""
        if self._next < len(self._items):
            return
        for piece in list(self._pieces.values()):
            if not piece.duplicated and time.monotonic() - piece.since_s > AWAY_S:
                piece.duplicated = True
                self._say(
                    Note(
                        "slow-host",
                        f"a host has not returned {piece.size:,} of {len(self._items):,} points for"
                        f" {AWAY_S:.0f} s; another host computes them as well",
                        {"points": piece.size, "of": len(self._items), "seconds": AWAY_S},
                    )
                )
                self._send(piece.first, piece.size, piece.lost)

    def _result(self, future: Any, piece: Piece) -> tuple[float, list[Any]] | None:  # noqa: ANN401
        """Return the result of a piece; None if its host was lost and it was sent again."""
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        try:
            return self._fetch(future)
        except KilledWorker as error:
            self._send_again(piece, getattr(error.last_worker, "name", None) or "unknown")
        except _NotHandedOverError:
            self._send_again(piece, None)
        except CancelledError:
            raise self._none_left("no-scheduler", "the scheduler is gone") from None
        return None

    def _send_again(self, piece: Piece, host: str | None) -> None:
        """Send a piece to another host: `host` was lost with it, or, if None, does not return its result."""
        name = "the host that does not return its answer" if host is None else f"host {host}"
        count = f"{piece.size:,} of {len(self._items):,} points"
        values: dict[str, Any] = {"host": host, "points": piece.size, "of": len(self._items)}
        if not workers(self._client):
            raise self._none_left("host-lost", f"{name} was lost, the last one", host) from None
        if piece.lost + 1 >= LOSSES:
            raise ClientError(
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
        self._send(piece.first, piece.size, piece.lost + 1)

    def _fetch(self, future: Any) -> tuple[float, list[Any]]:  # noqa: ANN401
        """Fetch a result from its host; Dask computes it again if that host was lost meanwhile.

        Raises
        ------
        _NotHandedOverError
            If the host does not return it within `AWAY_S`: it may hang.
        """
        if future.status in ("error", "cancelled"):
            future.result()  # raises the reason at once
        fetching = asyncio.run_coroutine_threadsafe(
            self._client.gather(future, asynchronous=True), self._client.loop.asyncio_loop
        )
        began_s = time.monotonic()
        while not concurrent.futures.wait([fetching], LOOK_S).done:
            if not workers(self._client):
                fetching.cancel()
                raise self._none_left("host-lost", "the last one was lost")
            if time.monotonic() - began_s > AWAY_S:
                fetching.cancel()
                raise _NotHandedOverError
        result: tuple[float, list[Any]] = fetching.result()
        return result

    def _none_left(self, reason: str, why: str, host: str | None = None) -> ClientError:
        return ClientError(
            "no-host-left",
            f"no host is left to compute on: {why}; {self._done:,} of {len(self._items):,} points were done",
            hint="run the command again when the hosts are back; without --fleet it runs here",
            reason=reason,
            done=self._done,
            of=len(self._items),
            host=host,
        )


def run_timed(work: Work, shared: Any, items: Sequence[Any]) -> tuple[float, list[Any]]:  # noqa: ANN401
    """Compute one piece on a host; return its duration in s and the results."""
    began = time.monotonic()
    results = work(shared, items)
    return time.monotonic() - began, results


def workers(client: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the scheduler's information about its workers, by address; empty if it does not answer."""
    try:
        info: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    except (OSError, TimeoutError):  # the scheduler is gone, and so are its workers
        return {}
    return info
