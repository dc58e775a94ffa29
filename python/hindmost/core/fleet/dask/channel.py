"""The controller's end of the channel: commands to hosts and their replies.

Both kinds of channel pass them through a broker (`broker.py`), which speaks Dask; nothing is unpickled here.
`OwnChannel` starts a worker on each host through SSH. `SchedulerChannel` (`scheduler.py`) uses the workers of
a scheduler that someone else started. Commands are never retransmitted, and a host that does not answer
counts as lost (`HostLost`).
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

from hindmost.core.fleet.dask.certificates import credentials
from hindmost.core.fleet.dask.hosts import Hosts
from hindmost.core.fleet.dask.link import Link
from hindmost.core.fleet.dask.replies import HostReply, Part, error_from, known_code, read_reply
from hindmost.core.fleet.dask.session import Signer
from hindmost.core.fleet.dask.ssh import Connection, reach
from hindmost.core.notes import Note
from hindmost.errors import ClientError, HostLost

ANSWER_S = 15.0
"""Timeout in s of an answer that needs no work."""
START_S = 60.0
"""Timeout in s of a command that starts something."""
CLOSE_S = 20.0
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Answer:
    """A host's reply, and the four times of the round trip (`clock.offset_of`)."""

    said: Any
    trip: tuple[int, int, int, int]


class Channel(Protocol):
    """Commands to hosts."""

    @property
    def is_confined(self) -> bool:
        """Whether the kernel restricts the broker's access to files."""

    @property
    def hosts(self) -> Sequence[str]:
        """Names of the hosts."""

    def ask(self, host: str, say: dict[str, Any], patience_s: float | None = ANSWER_S) -> Answer:
        """Send a command to a host, and wait for its reply."""

    def later(self, host: str, say: dict[str, Any], then: Callable[[Any | Exception], None]) -> None:
        """Send a command without waiting: another thread calls `then` with the reply or the error."""

    def address_of(self, host: str) -> str:
        """Return the address at which a host can be reached."""

    def set_resting(self, *, resting: bool) -> None:
        """Stop the timers of our own end, or restart them."""

    def close(self) -> None:
        """Close the channel and end everything it started elsewhere."""


class ThreadedChannel:
    """An event loop in a thread, with a broker; it signs commands and returns replies as values or errors."""

    def __init__(self) -> None:
        self.signer = Signer()
        self.broker: Link | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hindmost-fleet", daemon=True)
        self._thread.start()

    @property
    def is_confined(self) -> bool:
        """Whether the kernel restricts the broker's access to files."""
        return self.broker is not None and self.broker.rights.confined

    def do(self, work: Coroutine[Any, Any, Result], patience_s: float | None = None) -> Result:
        """Run a coroutine in the loop and wait for it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(patience_s)
        except BaseException:  # Ctrl-C too
            future.cancel()
            raise

    def _route(self, host: str) -> dict[str, Any]:
        """Return the arguments with which the broker reaches a host.

        Raises
        ------
        HostLost
            If it was lost earlier.
        """
        raise NotImplementedError

    async def _ask(self, host: str, say: dict[str, Any], patience_s: float | None) -> Answer:
        text, signature = self.signer.sign(host, say)
        (command,) = say
        message: dict[str, Any] = {
            "host": host,
            "text": text,
            "signature": signature,
            "patience_s": patience_s,
        }
        assert self.broker is not None
        passed: HostReply = await self.broker.ask("command", HostReply, **message, **self._route(host))
        if passed.late:
            raise HostLost(host, f"did not answer `{command}` within {patience_s or 0.0:g} s")
        if passed.lost is not None:
            self._lose(host)
            raise HostLost(host, f"its connection ended ({passed.lost[:200]})")
        if passed.missing is not None:
            raise ClientError(
                "missing-hindmost",
                f"host {host} has no Hindmost of this version: {passed.missing}",
                hint="pip install 'hindmost[fleet]' there",
                host=host,
            )
        reply = read_reply(host, command, passed.reply)
        if reply.error is not None:
            raise error_from(host, reply.error)
        return Answer(reply.ok, (passed.asked_ns, reply.heard_ns, reply.said_ns, passed.answered_ns))

    def _lose(self, host: str) -> None:
        """Record that the connection to a host ended."""

    def ask(self, host: str, say: dict[str, Any], patience_s: float | None = ANSWER_S) -> Answer:
        """Send a command to a host, and wait for its reply."""
        return self.do(self._ask(host, say, patience_s))

    def later(self, host: str, say: dict[str, Any], then: Callable[[Any | Exception], None]) -> None:
        """Send a command without waiting: the loop's thread calls `then` with the reply or the error."""

        async def work() -> None:
            try:
                then((await self._ask(host, say, None)).said)
            except Exception as error:  # passed on to the caller
                then(error)

        asyncio.run_coroutine_threadsafe(work(), self._loop)

    def compute(
        self,
        shared: Any,  # noqa: ANN401 (plain data)
        items: Sequence[Any],
        say: Callable[[Note], None],
    ) -> Iterator[tuple[int, Any]]:
        """Let the workers compute a batch; yield pieces as they arrive (`broker.Broker.compute`)."""
        messages: queue.SimpleQueue[Part | Exception | None] = queue.SimpleQueue()
        assert self.broker is not None
        broker = self.broker

        def hear(message: dict[str, Any]) -> None:
            messages.put(msgspec.convert(message, Part))

        async def work() -> None:
            try:
                messages.put(await broker.ask("compute", None, hear, shared=shared, items=items))
            except Exception as error:  # passed on to the caller
                messages.put(error)

        future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            while (part := messages.get()) is not None:
                if isinstance(part, Exception):
                    raise part
                if part.note is not None:
                    say(Note(known_code(part.note.code), part.note.text, part.note.values))
                if part.piece is not None:
                    yield part.piece.first, part.piece.answers
        finally:
            future.cancel()

    def _end(self) -> None:
        async def finish() -> None:
            if self.broker is not None:
                await self.broker.close()
            unfinished = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in unfinished:
                task.cancel()
            await asyncio.gather(*unfinished, return_exceptions=True)

        with contextlib.suppress(Exception):
            self.do(finish(), CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()


class OwnChannel(ThreadedChannel):
    """A scheduler in a local broker, and a worker on each host.

    Parameters
    ----------
    hosts : Hosts
        With ``[[host]]`` tables.
    work : str, optional
        What workers compute (`compute.computing`); workers that measure take no tasks.

    Raises
    ------
    InstanceError
        If a host cannot be reached, or has no Hindmost; everything started elsewhere is ended.
    """

    def __init__(self, hosts: Hosts, work: str | None = None) -> None:
        super().__init__()
        self._hosts = {host.name: host for host in hosts.host}
        self._ssh = hosts.ssh
        self.hosts: Sequence[str] = hosts.names
        self._work = work
        self._reached: dict[str, Connection] = {}
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
        await _all(*(self._start_worker(name) for name in self.hosts))
        if self._work:
            assert self.broker is not None
            await self.broker.ask("computing", int)

    async def _reach(self, name: str) -> None:
        if (gone := self._reached.pop(name, None)) is not None:
            await gone.close()
        self._reached[name] = await reach(self._hosts[name], self._ssh)

    async def _start_worker(self, name: str) -> None:
        """Start the worker of a connected host; the scheduler listens on the address that SSH came from."""
        connection = self._reached[name]
        assert self.broker is not None
        scheduler = await self.broker.ask("listen", str, host=connection.ours)
        config = {
            "host": name,
            "public": self.signer.public,
            "computes": self._work is not None,
            "folder": self._hosts[name].folder,
            "scheduler": scheduler,
            "address": connection.theirs,
            "credentials": asdict(self._credentials[name]),
        }
        await connection.start_worker(config)

    def restart_worker(self, name: str) -> None:
        """Start a new worker on a host that was lost."""

        async def work() -> None:
            await self._reach(name)
            await self._start_worker(name)

        self.do(work())

    def _route(self, host: str) -> dict[str, Any]:
        if host not in self._reached:
            raise HostLost(host, "it was lost earlier")
        return {"address": self._reached[host].address}

    def address_of(self, host: str) -> str:
        """Return the address of its worker."""
        return self._reached[host].theirs

    def set_resting(self, *, resting: bool) -> None:
        """Stop the scheduler's timers, or restart them."""
        assert self.broker is not None
        self.do(self.broker.ask("set_resting", None, resting=resting))

    def close(self) -> None:
        """End the workers, then the scheduler."""

        async def work() -> None:
            await asyncio.gather(
                *(connection.close() for connection in self._reached.values()), return_exceptions=True
            )

        with contextlib.suppress(Exception):
            self.do(work(), CLOSE_S)
        self._end()


async def _all(*works: Coroutine[Any, Any, None]) -> None:
    """Await all, then raise the first error, so that nothing keeps running in the background."""
    for result in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
