"""The controller's end of the channel: words to hosts and their answers, over Dask's connections.

`OwnChannel` has a scheduler of its own, in a thread here, and brings a worker to each host through SSH.
`GivenChannel` (`given.py`) uses the workers of a scheduler that somebody else started. Nothing is ever sent
again, and a host that does not answer is lost (`HostLost`).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from hindmost import _engine
from hindmost.errors import HostLost, InstanceError
from hindmost.exits import Exit
from hindmost.fleet.dask import quiet
from hindmost.fleet.dask.certificates import credentials
from hindmost.fleet.dask.hosts import Hosts
from hindmost.fleet.dask.session import Signer
from hindmost.fleet.dask.ssh import Reached, reach

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
    """Words to hosts."""

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
    """An event loop in a thread, signed words, and answers as values or errors."""

    def __init__(self) -> None:
        self.signer = Signer()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hindmost-fleet", daemon=True)
        self._thread.start()

    def _do(self, work: Coroutine[Any, Any, Result], patience_s: float | None = None) -> Result:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(patience_s)
        except BaseException:  # Ctrl-C too
            future.cancel()
            raise

    async def _tell(self, host: str, text: str, signature: str) -> dict[str, Any]:
        raise NotImplementedError

    async def _ask(self, host: str, say: dict[str, Any], patience_s: float | None) -> Answer:
        text, signature = self.signer.word(host, say)
        asked_ns = _engine.monotonic_ns()
        (word,) = say
        try:
            reply = await asyncio.wait_for(self._tell(host, text, signature), patience_s)
        except TimeoutError:
            raise HostLost(host, f"did not answer `{word}` within {patience_s:g} s") from None
        except OSError as error:  # distributed's CommClosedError is one
            raise HostLost(host, f"its connection ended ({str(error)[:200]})") from None
        answered_ns = _engine.monotonic_ns()
        if "error" in reply:
            raise told_by(host, reply["error"])
        return Answer(reply["ok"], (asked_ns, reply["heard_ns"], reply["said_ns"], answered_ns))

    def ask(self, host: str, say: dict[str, Any], patience_s: float | None = ANSWER_S) -> Answer:
        return self._do(self._ask(host, say, patience_s))

    def later(self, host: str, say: dict[str, Any], then: Callable[[Any | Exception], None]) -> None:
        async def work() -> None:
            try:
                then((await self._ask(host, say, None)).said)
            except Exception as error:  # told to whoever waits
                then(error)

        asyncio.run_coroutine_threadsafe(work(), self._loop)

    def _end(self) -> None:
        async def rest() -> None:
            left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

        with contextlib.suppress(Exception):
            self._do(rest(), CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)


def told_by(host: str, error: Mapping[str, Any]) -> InstanceError:
    """The error that a host reports (`host.error_document`)."""
    fields = {**error.get("fields", {}), "host": host}
    return InstanceError(
        error["code"],
        f"host {host}: {error['message']}",
        hint=error.get("hint"),
        exit_code=Exit.UNFIT if error.get("unfit") else None,
        **fields,
    )


def host_of(address: str) -> str:
    """The host of ``tls://HOST:PORT``."""
    return address.partition("://")[2].rpartition(":")[0].strip("[]")


class OwnChannel(_Threaded):
    """A scheduler here, a worker on each host.

    Parameters
    ----------
    hosts : Hosts
        With ``[[host]]`` tables.
    computes : bool
        Whether workers take tasks; those that measure do not.

    Raises
    ------
    InstanceError
        If a host cannot be reached, or has no Hindmost; all that was begun elsewhere is ended.
    """

    def __init__(self, hosts: Hosts, *, computes: bool = False) -> None:
        super().__init__()
        self._asked = {one.name: one for one in hosts.host}
        self._ssh = hosts.ssh
        self.hosts: Sequence[str] = hosts.names
        self._computes = computes
        self._reached: dict[str, Reached] = {}
        self._scheduler: Any = None
        names = ("controller", *hosts.names)
        self._credentials = dict(zip(names, credentials(names), strict=True))
        try:
            self._do(self._open())
        except BaseException:
            self.close()
            raise

    async def _open(self) -> None:
        from distributed import Scheduler

        quiet.still()
        self._scheduler = Scheduler(
            protocol="tls",
            host="0.0.0.0",
            port=0,
            dashboard=False,
            dashboard_address="127.0.0.1:0",
            security=self._credentials["controller"].security(),
        )
        await self._scheduler
        found = await asyncio.gather(*map(self._bring, self.hosts), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException):
                raise one

    async def _bring(self, name: str) -> None:
        """Bring a worker to a host."""
        config = {
            "host": name,
            "public": self.signer.public,
            "computes": self._computes,
            "folder": self._asked[name].folder,
            "port": self._scheduler.port,
        }
        self._reached[name] = await reach(self._asked[name], self._ssh, config, self._credentials[name])

    def bring_again(self, name: str) -> None:
        """After a host was lost: a new worker there."""

        async def work() -> None:
            if (gone := self._reached.pop(name, None)) is not None:
                await gone.close()
            await self._bring(name)

        self._do(work())

    async def _tell(self, host: str, text: str, signature: str) -> dict[str, Any]:
        if host not in self._reached:
            raise OSError("it was lost before")
        found: dict[str, Any] = await self._scheduler.rpc(self._reached[host].address).hindmost(
            text=text, signature=signature
        )
        return found

    def address_of(self, host: str) -> str:
        """As its worker is reached."""
        return host_of(self._reached[host].address)

    @property
    def address(self) -> str:
        """Of the scheduler, for clients on this machine."""
        return f"tls://127.0.0.1:{self._scheduler.port}"

    @property
    def security(self) -> Any:  # noqa: ANN401 (distributed has no types)
        """The controller's."""
        return self._credentials["controller"].security()

    def rest(self, *, resting: bool) -> None:
        """Let the scheduler's timers rest, or go on."""
        act = quiet.rest if resting else quiet.resume
        self._loop.call_soon_threadsafe(act, self._scheduler)

    def close(self) -> None:
        """End the workers, then the scheduler."""

        async def work() -> None:
            await asyncio.gather(*(one.close() for one in self._reached.values()), return_exceptions=True)
            if self._scheduler is not None:
                await self._scheduler.close()

        with contextlib.suppress(Exception):
            self._do(work(), CLOSE_S)
        self._end()
