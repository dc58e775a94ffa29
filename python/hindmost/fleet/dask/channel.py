"""The controller's end of the channel: commands to hosts and their replies.

Both kinds pass them through a broker (`broker.py`), which speaks Dask; nothing is unpickled here.
`OwnChannel` starts a worker on each host through SSH. `GivenChannel` (`given.py`) uses the workers of a
scheduler that somebody else started. Nothing is ever sent again, and a host that does not answer is lost
(`HostLost`).
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from hindmost.errors import HostLost, InstanceError
from hindmost.fleet.dask.certificates import credentials
from hindmost.fleet.dask.hosts import Hosts
from hindmost.fleet.dask.link import Link
from hindmost.fleet.dask.replies import Part, Passed, known_code, read_reply, told_by
from hindmost.fleet.dask.session import Signer
from hindmost.fleet.dask.ssh import Reached, reach
from hindmost.notes import Note

ANSWER_S = 15.0
"""Patience with an answer that needs no work."""
START_S = 60.0
"""With one that begins something."""
CLOSE_S = 20.0
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a host said, and the four moments of the round trip (`clock.offset_of`)."""

    said: Any
    trip: tuple[int, int, int, int]


class Channel(Protocol):
    """Commands to hosts."""

    @property
    def confined(self) -> bool:
        """Whether the kernel keeps files from the broker."""

    @property
    def hosts(self) -> Sequence[str]:
        """Their names."""

    def ask(self, host: str, say: dict[str, Any], patience_s: float | None = ANSWER_S) -> Answer:
        """Say something to a host, and wait for what it says."""

    def later(self, host: str, say: dict[str, Any], then: Callable[[Any | Exception], None]) -> None:
        """The same without waiting: `then` is told, in another thread."""

    def address_of(self, host: str) -> str:
        """Where a host is, as it is reached."""

    def rest(self, *, resting: bool) -> None:
        """Whether our own timers rest."""

    def close(self) -> None:
        """End it, and all that it began elsewhere."""


class _Threaded:
    """An event loop in a thread with a broker, signed commands, and answers as values or errors."""

    def __init__(self) -> None:
        self.signer = Signer()
        self.broker: Link | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hindmost-fleet", daemon=True)
        self._thread.start()

    @property
    def confined(self) -> bool:
        return self.broker is not None and self.broker.rights.confined

    def do(self, work: Coroutine[Any, Any, Result], patience_s: float | None = None) -> Result:
        """Await something in the loop."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(patience_s)
        except BaseException:  # Ctrl-C too
            future.cancel()
            raise

    def _route(self, host: str) -> dict[str, Any]:
        """How the broker reaches a host.

        Raises
        ------
        HostLost
            If it was lost before.
        """
        raise NotImplementedError

    async def _ask(self, host: str, say: dict[str, Any], patience_s: float | None) -> Answer:
        text, signature = self.signer.word(host, say)
        (word,) = say
        what: dict[str, Any] = {"host": host, "text": text, "signature": signature, "patience_s": patience_s}
        assert self.broker is not None
        found: Passed = await self.broker.ask("command", Passed, **what, **self._route(host))
        if found.late:
            raise HostLost(host, f"did not answer `{word}` within {patience_s or 0.0:g} s")
        if found.lost is not None:
            self._lose(host)
            raise HostLost(host, f"its connection ended ({found.lost[:200]})")
        if found.missing is not None:
            raise InstanceError(
                "missing-hindmost",
                f"host {host} has no Hindmost of this version: {found.missing}",
                hint="pip install 'hindmost[fleet]' there",
                host=host,
            )
        reply = read_reply(host, word, found.reply)
        if reply.error is not None:
            raise told_by(host, reply.error)
        return Answer(reply.ok, (found.asked_ns, reply.heard_ns, reply.said_ns, found.answered_ns))

    def _lose(self, host: str) -> None:
        """Remember that the connection to a host ended."""

    def ask(self, host: str, say: dict[str, Any], patience_s: float | None = ANSWER_S) -> Answer:
        return self.do(self._ask(host, say, patience_s))

    def later(self, host: str, say: dict[str, Any], then: Callable[[Any | Exception], None]) -> None:
        async def work() -> None:
            try:
                then((await self._ask(host, say, None)).said)
            except Exception as error:  # told to whoever waits
                then(error)

        asyncio.run_coroutine_threadsafe(work(), self._loop)

    def compute(
        self,
        shared: Any,  # noqa: ANN401 (plain data)
        items: Sequence[Any],
        say: Callable[[Note], None],
    ) -> Iterator[tuple[int, Any]]:
        """Have the workers compute a batch; yields pieces as they come (`broker.Broker.compute`)."""
        heard: queue.SimpleQueue[Part | Exception | None] = queue.SimpleQueue()
        assert self.broker is not None
        broker = self.broker

        def hear(message: dict[str, Any]) -> None:
            heard.put(msgspec.convert(message, Part))

        async def work() -> None:
            try:
                heard.put(await broker.ask("compute", None, hear, shared=shared, items=items))
            except Exception as error:  # told to whoever waits
                heard.put(error)

        future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            while (one := heard.get()) is not None:
                if isinstance(one, Exception):
                    raise one
                if one.note is not None:
                    say(Note(known_code(one.note.code), one.note.text, one.note.values))
                if one.piece is not None:
                    yield one.piece.first, one.piece.answers
        finally:
            future.cancel()

    def _end(self) -> None:
        async def rest() -> None:
            if self.broker is not None:
                await self.broker.close()
            left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

        with contextlib.suppress(Exception):
            self.do(rest(), CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()


class OwnChannel(_Threaded):
    """A scheduler in a broker here, a worker on each host.

    Parameters
    ----------
    hosts : Hosts
        With ``[[host]]`` tables.
    work : str, optional
        What workers compute (`compute.computing`); those that measure take no tasks.

    Raises
    ------
    InstanceError
        If a host cannot be reached, or has no Hindmost; all that was begun elsewhere is ended.
    """

    def __init__(self, hosts: Hosts, work: str | None = None) -> None:
        super().__init__()
        self._asked = {one.name: one for one in hosts.host}
        self._ssh = hosts.ssh
        self.hosts: Sequence[str] = hosts.names
        self._work = work
        self._reached: dict[str, Reached] = {}
        names = ("controller", *hosts.names)
        self._credentials = dict(zip(names, credentials(names), strict=True))
        try:
            self.do(self._open())
        except BaseException:
            self.close()
            raise

    async def _open(self) -> None:
        async def start() -> None:
            ours = asdict(self._credentials["controller"])
            self.broker = await Link.start({"credentials": ours, "work": self._work})

        await _all(start(), *(self._reach(name) for name in self.hosts))
        await _all(*(self._bring(name) for name in self.hosts))
        if self._work:
            assert self.broker is not None
            await self.broker.ask("computing", int)

    async def _reach(self, name: str) -> None:
        if (gone := self._reached.pop(name, None)) is not None:
            await gone.close()
        self._reached[name] = await reach(self._asked[name], self._ssh)

    async def _bring(self, name: str) -> None:
        """Start the worker of a host that was reached; the scheduler listens where SSH came from."""
        one = self._reached[name]
        assert self.broker is not None
        scheduler = await self.broker.ask("listen", str, host=one.ours)
        config = {
            "host": name,
            "public": self.signer.public,
            "computes": self._work is not None,
            "folder": self._asked[name].folder,
            "scheduler": scheduler,
            "address": one.theirs,
            "credentials": asdict(self._credentials[name]),
        }
        await one.begin(config)

    def bring_again(self, name: str) -> None:
        """After a host was lost: a new worker there."""

        async def work() -> None:
            await self._reach(name)
            await self._bring(name)

        self.do(work())

    def _route(self, host: str) -> dict[str, Any]:
        if host not in self._reached:
            raise HostLost(host, "it was lost before")
        return {"address": self._reached[host].address}

    def address_of(self, host: str) -> str:
        """As its worker is reached."""
        return self._reached[host].theirs

    def rest(self, *, resting: bool) -> None:
        """Let the scheduler's timers rest, or go on."""
        assert self.broker is not None
        self.do(self.broker.ask("rest", None, resting=resting))

    def close(self) -> None:
        """End the workers, then the scheduler."""

        async def work() -> None:
            await asyncio.gather(*(one.close() for one in self._reached.values()), return_exceptions=True)

        with contextlib.suppress(Exception):
            self.do(work(), CLOSE_S)
        self._end()


async def _all(*works: Coroutine[Any, Any, None]) -> None:
    """Await all, then raise the first error: nothing is begun behind our back."""
    for one in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(one, BaseException):
            raise one
