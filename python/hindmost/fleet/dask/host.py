"""What a load host does when it is told to: a closed vocabulary, and only what its controller signed.

::

    hello    who it is: versions, processors            start    begin the clients of a run
    clock    its monotonic clock                        order    pass a word on to one of them
    doctor   is it fit to measure                       listen   what they said; waits for something
    reach    is the server to be had from here          fetch    a piece of a file of theirs
    serve    start a server it knows by name            stop     end all of it, and remove it
    knob     set a setting it knows, or put it back     leave    and all else, too
    recover  put back what a killed one left set

There is no word for a command line. From the order to measure until the first client is done this process
is asked nothing, its timers rest, and it counts what it did all the same.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import resource
import time
from collections.abc import Callable, Coroutine
from typing import Any

from hindmost import _engine
from hindmost.errors import HindmostError
from hindmost.fleet.dask import quiet
from hindmost.fleet.dask.replies import error_document
from hindmost.fleet.dask.session import Refused, Verifier
from hindmost.fleet.dask.team import SETTLE_S, HostTeam
from hindmost.fleet.dask.version import identity

LEASE_S = 180.0
"""A controller that says nothing for so long is gone: outside measurements it listens every 20 s."""

Word = Callable[["Host", dict[str, Any]], Coroutine[Any, Any, Any]]


class Host:
    """A process as a load host, within a Dask worker.

    Parameters
    ----------
    verifier : Verifier
        Knows the controller.
    server : distributed.Worker
        Whose timers rest in a measurement.
    """

    def __init__(self, verifier: Verifier, server: Any) -> None:  # noqa: ANN401 (distributed has no types)
        self.verifier = verifier
        self._server = server
        self._team: HostTeam | None = None
        self._knobs: dict[str, str] = {}
        self._serving: Any = None
        self._changing = asyncio.Lock()  # who leaves puts back what is still being set
        self._lease: asyncio.TimerHandle | None = None
        self.left = False
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:  # clients inherit it
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    async def obey(self, text: str, signature: str) -> str:
        """Do what is said.

        Returns
        -------
        str
            JSON: ``ok`` with what it came to, or ``error`` with why not.
        """
        return json.dumps(await self._obeyed(text, signature))

    async def _obeyed(self, text: str, signature: str) -> dict[str, Any]:
        heard_ns = _engine.monotonic_ns()
        try:
            ((name, what),) = self.verifier.read(text, signature).items()
            if name not in WORDS:
                raise Refused(
                    "rejected-command",
                    f"{name!r} is not one of {', '.join(WORDS)}",
                    reason="unknown",
                    value=name,
                    known=list(WORDS),
                )
            self._renew()
            found = await WORDS[name](self, what)
        except HindmostError as error:
            return {"error": error_document(error)}
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            write = HindmostError("write", f"{place}{error.strerror or error}", path=error.filename)
            return {"error": error_document(write)}
        return {"ok": found, "heard_ns": heard_ns, "said_ns": _engine.monotonic_ns()}

    def _renew(self, seconds: float = LEASE_S) -> None:
        if self._lease is not None:
            self._lease.cancel()
        self._lease = asyncio.get_running_loop().call_later(
            seconds, lambda: asyncio.ensure_future(self.close())
        )

    async def leave(self, _: dict[str, Any]) -> None:
        """The session is over."""
        await self.close()
        self.left = True

    async def close(self) -> None:
        """End all that was begun here, and put back all that was set."""
        if self._lease is not None:
            self._lease.cancel()
        await self.stop({})
        try:
            await self.serve({"name": None})
        finally:
            for name in list(self._knobs):
                await self.knob({"name": name, "value": None})

    async def hello(self, _: dict[str, Any]) -> dict[str, Any]:
        """Who we are."""
        return {
            **identity(),
            "python": platform.python_version(),
            "hostname": platform.node(),
            "cpus": sorted(os.sched_getaffinity(0)),
            "pid": os.getpid(),
        }

    async def clock(self, _: dict[str, Any]) -> None:
        """Every answer has our clock."""

    async def doctor(self, what: dict[str, Any]) -> dict[str, Any]:
        """Facts and findings of this host."""
        found: dict[str, Any] = json.loads(await asyncio.to_thread(_engine.doctor, "/", what["spin_s"]))
        found.pop("noise", None)
        return found

    async def reach(self, what: dict[str, Any]) -> None:
        """Whether the server takes a connection from here."""
        host, _, port = what["address"].rpartition(":")
        try:
            _, writer = await asyncio.wait_for(
                asyncio.open_connection(host.strip("[]"), int(port)), what["timeout_s"]
            )
        except (OSError, TimeoutError) as error:
            why = f"no answer within {what['timeout_s']:g} s" if isinstance(error, TimeoutError) else error
            raise HindmostError(
                "server-unreachable",
                f"cannot reach {what['address']}: {why}",
                hint=f"there: ip route get {host}",
                address=what["address"],
                errno=getattr(error, "errno", None),
            ) from None
        writer.close()

    async def start(self, what: dict[str, Any]) -> list[dict[str, Any]]:
        """Begin the clients of a run; gives where each runs."""
        await self.stop({})
        self._team = HostTeam(what["folder"], what["instances"], what["files"])
        return self._team.places

    async def order(self, what: dict[str, Any]) -> None:
        """Pass a word on to a client; the last order to measure brings silence."""
        team = self._started()
        team.order(what["index"], what["command"])
        if "measure" in what["command"] and team.all_ordered_to_measure:
            self._renew(team.longest_s)
            quiet.rest(self._server)
            asyncio.get_running_loop().call_later(SETTLE_S, team.count)

    async def listen(self, what: dict[str, Any]) -> dict[str, Any]:
        """What clients said; waits for something, in a measurement as long as it takes."""
        team = self._started()
        events = await team.hear(what["wait_s"])
        if team.measured:
            quiet.resume(self._server)
        return {"events": events, "channel": team.channel}

    async def fetch(self, what: dict[str, Any]) -> list[tuple[str, int]] | str:
        """Names and sizes of the clients' files, or a piece of one in base64."""
        return await asyncio.to_thread(self._started().fetch, what)

    async def stop(self, _: dict[str, Any]) -> None:
        """End the clients of a run, and remove their folder."""
        if self._team is not None:
            team, self._team = self._team, None
            quiet.resume(self._server)
            await asyncio.to_thread(team.close)

    async def serve(self, what: dict[str, Any]) -> dict[str, Any] | None:
        """Start a server with what is set meanwhile, or stop it and put that back."""
        from hindmost.fleet.dask.serving import Serving

        async with self._changing:
            if self._serving is not None:
                serving, self._serving = self._serving, None
                ended: dict[str, Any] = await asyncio.to_thread(serving.ended)
                return ended
            if what["name"] is None:
                return None
            serving = Serving(what["name"], what["listen"], what["cpus"], what.get("settings", ()))
            document = await asyncio.to_thread(serving.started)
            self._serving = serving
            return document

    async def knob(self, what: dict[str, Any]) -> None:
        """Set a setting of this host, or put it back (``value`` is None)."""
        from hindmost.fleet.dask.serving import set_knob, unset_knob

        name, value = what["name"], what["value"]
        async with self._changing:
            if value is not None:
                self._knobs[name] = value
                await asyncio.to_thread(set_knob, name, value)
            elif self._knobs.pop(name, None) is not None:
                await asyncio.to_thread(unset_knob, name)

    async def recover(self, _: dict[str, Any]) -> list[dict[str, str | None]]:
        """Put back what is set here by one that was killed; gives what it was."""
        from hindmost.knobs import recover

        async with self._changing:
            return await asyncio.to_thread(recover)

    def _started(self) -> HostTeam:
        if self._team is None:
            raise HindmostError("no-client-running", "no client runs here")
        return self._team


WORDS: dict[str, Word] = {
    "hello": Host.hello,
    "clock": Host.clock,
    "doctor": Host.doctor,
    "reach": Host.reach,
    "start": Host.start,
    "order": Host.order,
    "listen": Host.listen,
    "fetch": Host.fetch,
    "stop": Host.stop,
    "serve": Host.serve,
    "knob": Host.knob,
    "recover": Host.recover,
    "leave": Host.leave,
}
"""All that a host can be told."""


_BY_SERVER: dict[int, tuple[Host, float]] = {}


async def obey_within(host: str, public: str, text: str, signature: str, dask_worker: Any) -> str:  # noqa: ANN401
    """The same within a worker that somebody else started: it is the first controller's until that leaves.

    Parameters
    ----------
    public : str
        The controller's public key; one that is not the session's is refused while that lasts.
    """
    there, until = _BY_SERVER.get(id(dask_worker), (None, 0.0))
    now = time.monotonic()
    if there is None or there.left or (there.verifier.public != public and now > until):
        there = Host(Verifier(public, host), dask_worker)
    if there.verifier.public != public:
        busy = HindmostError(
            "host-busy",
            f"host {host} works for another controller",
            hint=f"wait; it is free {LEASE_S:g} s after that controller's last command",
            host=host,
        )
        return json.dumps({"error": error_document(busy)})
    _BY_SERVER[id(dask_worker)] = (there, now + LEASE_S)
    return await there.obey(text, signature)
