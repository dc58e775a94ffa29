"""The commands of a load host: a closed vocabulary, and only with the signature of its controller.

::

    hello    identity: versions, CPUs                   start    start the clients of a run
    clock    its monotonic clock                        order    pass a command on to a client
    doctor   check whether it is fit to measure         listen   wait for messages of the clients
    reach    check that it can reach the server         fetch    read a piece of a client's file
    serve    start a server that it knows by name       stop     end the clients and remove their files
    knob     set a setting that it knows, or restore it leave    end everything
    recover  restore what a killed process left set

There is no command with a command line. From the order to measure until the first client is done, this
process gets no commands, its timers rest, and it counts its own activity.
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
from hindmost.core.fleet.dask import quiet
from hindmost.core.fleet.dask.replies import error_document
from hindmost.core.fleet.dask.session import RejectedCommand, Verifier
from hindmost.core.fleet.dask.team import SETTLE_S, HostTeam
from hindmost.core.fleet.dask.version import identity
from hindmost.errors import HindmostError

LEASE_S = 180.0
"""A controller that is silent for this long, in s, is gone: outside measurements it listens every 20 s."""

Command = Callable[["Host", dict[str, Any]], Coroutine[Any, Any, Any]]


class Host:
    """A load host: a process within a Dask worker.

    Parameters
    ----------
    verifier : Verifier
        Verifies the controller's signatures.
    server : distributed.Worker
        The worker; its timers rest during a measurement.
    """

    def __init__(self, verifier: Verifier, server: Any) -> None:  # noqa: ANN401 (distributed has no types)
        self.verifier = verifier
        self._server = server
        self._team: HostTeam | None = None
        self._knobs: dict[str, str] = {}
        self._serving: Any = None
        self._changing = asyncio.Lock()  # leaving also restores settings in progress
        self._lease: asyncio.TimerHandle | None = None
        self.has_left = False
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:  # inherited by clients
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    async def obey(self, text: str, signature: str) -> str:
        """Execute a command.

        Returns
        -------
        str
            JSON: ``ok`` with the result, or ``error``.
        """
        return json.dumps(await self._execute(text, signature))

    async def _execute(self, text: str, signature: str) -> dict[str, Any]:
        heard_ns = _engine.monotonic_ns()
        try:
            ((name, what),) = self.verifier.read(text, signature).items()
            if name not in COMMANDS:
                raise RejectedCommand(
                    "rejected-command",
                    f"{name!r} is not one of {', '.join(COMMANDS)}",
                    reason="unknown",
                    value=name,
                    known=list(COMMANDS),
                )
            self._renew()
            result = await COMMANDS[name](self, what)
        except HindmostError as error:
            return {"error": error_document(error)}
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            write = HindmostError("write", f"{place}{error.strerror or error}", path=error.filename)
            return {"error": error_document(write)}
        return {"ok": result, "heard_ns": heard_ns, "said_ns": _engine.monotonic_ns()}

    def _renew(self, seconds: float = LEASE_S) -> None:
        if self._lease is not None:
            self._lease.cancel()
        self._lease = asyncio.get_running_loop().call_later(
            seconds, lambda: asyncio.ensure_future(self.close())
        )

    async def leave(self, _: dict[str, Any]) -> None:
        """End the session."""
        await self.close()
        self.has_left = True

    async def close(self) -> None:
        """End everything that was started here, and restore all settings."""
        if self._lease is not None:
            self._lease.cancel()
        await self.stop({})
        try:
            await self.serve({"name": None})
        finally:
            for name in list(self._knobs):
                await self.knob({"name": name, "value": None})

    async def hello(self, _: dict[str, Any]) -> dict[str, Any]:
        """Return the identity of this host."""
        return {
            **identity(),
            "python": platform.python_version(),
            "hostname": platform.node(),
            "cpus": sorted(os.sched_getaffinity(0)),
            "pid": os.getpid(),
        }

    async def clock(self, _: dict[str, Any]) -> None:
        """Do nothing: every reply has our clock."""

    async def doctor(self, what: dict[str, Any]) -> dict[str, Any]:
        """Return facts and findings about this host."""
        found: dict[str, Any] = json.loads(await asyncio.to_thread(_engine.doctor, "/", what["spin_s"]))
        found.pop("noise", None)
        return found

    async def reach(self, what: dict[str, Any]) -> None:
        """Check that the server accepts a connection from here."""
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
        """Start the clients of a run; return the place of each."""
        await self.stop({})
        self._team = HostTeam(what["folder"], what["clients"], what["files"])
        return self._team.places

    async def order(self, what: dict[str, Any]) -> None:
        """Pass a command on to a client; after the last order to measure, become silent."""
        team = self._running_team()
        team.order(what["index"], what["command"])
        if "measure" in what["command"] and team.all_ordered_to_measure:
            self._renew(team.longest_s)
            quiet.pause(self._server)
            asyncio.get_running_loop().call_later(SETTLE_S, team.count)

    async def listen(self, what: dict[str, Any]) -> dict[str, Any]:
        """Wait for messages of the clients and return them; in a measurement, wait as long as it takes."""
        team = self._running_team()
        events = await team.hear(what["wait_s"])
        if team.has_measured:
            quiet.resume(self._server)
        return {"events": events, "channel": team.channel}

    async def fetch(self, what: dict[str, Any]) -> list[tuple[str, int]] | str:
        """Return names and sizes of the clients' files, or a piece of one in base64."""
        return await asyncio.to_thread(self._running_team().fetch, what)

    async def stop(self, _: dict[str, Any]) -> None:
        """End the clients of a run, and remove their folder."""
        if self._team is not None:
            team, self._team = self._team, None
            quiet.resume(self._server)
            await asyncio.to_thread(team.close)

    async def serve(self, what: dict[str, Any]) -> dict[str, Any] | None:
        """Start a server with its settings, or stop it and restore them."""
        from hindmost.core.fleet.dask.serving import Serving

        async with self._changing:
            if self._serving is not None:
                serving, self._serving = self._serving, None
                outcome: dict[str, Any] = await asyncio.to_thread(serving.stop)
                return outcome
            if what["name"] is None:
                return None
            serving = Serving(what["name"], what["listen"], what["cpus"], what.get("settings", ()))
            document = await asyncio.to_thread(serving.start)
            self._serving = serving
            return document

    async def knob(self, what: dict[str, Any]) -> None:
        """Set a setting of this host, or restore it (``value`` is None)."""
        from hindmost.core.fleet.dask.serving import set_knob, unset_knob

        name, value = what["name"], what["value"]
        async with self._changing:
            if value is not None:
                self._knobs[name] = value
                await asyncio.to_thread(set_knob, name, value)
            elif self._knobs.pop(name, None) is not None:
                await asyncio.to_thread(unset_knob, name)

    async def recover(self, _: dict[str, Any]) -> list[dict[str, str | None]]:
        """Restore what a killed process left set here; return the settings."""
        from msgspec.structs import asdict

        from hindmost.core.knobs import recover

        async with self._changing:
            return [asdict(one) for one in await asyncio.to_thread(recover)]

    def _running_team(self) -> HostTeam:
        if self._team is None:
            raise HindmostError("no-client-running", "no client runs here")
        return self._team


COMMANDS: dict[str, Command] = {
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
"""All commands of a host."""


_BY_SERVER: dict[int, tuple[Host, float]] = {}


async def obey_within(host: str, public: str, text: str, signature: str, dask_worker: Any) -> str:  # noqa: ANN401
    """Execute a command in a worker that someone else started.

    The worker serves its first controller until that leaves.

    Parameters
    ----------
    public : str
        The controller's public key; another key is refused during the session.
    """
    worker, until = _BY_SERVER.get(id(dask_worker), (None, 0.0))
    now = time.monotonic()
    if worker is None or worker.has_left or (worker.verifier.public != public and now > until):
        worker = Host(Verifier(public, host), dask_worker)
    if worker.verifier.public != public:
        busy = HindmostError(
            "host-busy",
            f"host {host} works for another controller",
            hint=f"wait; it is free {LEASE_S:g} s after that controller's last command",
            host=host,
        )
        return json.dumps({"error": error_document(busy)})
    _BY_SERVER[id(dask_worker)] = (worker, now + LEASE_S)
    return await worker.obey(text, signature)
