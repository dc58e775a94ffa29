"""The server under test on the host of ``[target]``: started there for each run, and stopped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hindmost.core.exits import Exit
from hindmost.core.fleet.dask.channel import Channel
from hindmost.core.fleet.dask.hosts import TargetPlace
from hindmost.core.fleet.dask.replies import Server
from hindmost.core.fleet.fleet import RemoteServer, Setting
from hindmost.errors import ClientError, HindmostError, HostLost, HostUnfit, TargetError

SERVE_S = 90.0


@contextmanager
def serve_remotely(
    channel: Channel, place: TargetPlace, name: str, cpus: Sequence[int], settings: Sequence[Setting]
) -> Iterator[RemoteServer]:
    """Start a new server on the host of ``[target]`` for a run; stop it afterwards."""
    listen = place.listen or channel.address_of(place.host)
    sent = [{"what": dict(setting.what), "level": setting.level} for setting in settings]
    start = {"serve": {"name": name, "listen": listen, "cpus": list(cpus), "settings": sent}}
    try:
        reply: Server = channel.ask(place.host, start, SERVE_S).said
    except HostLost:
        raise
    except ClientError as error:
        kind = HostUnfit if error.exit_code == Exit.UNFIT else TargetError
        raise kind(error.code, error.message, hint=error.hint, **error.fields) from None
    server = RemoteServer(place.host, reply.address, reply.command, reply.cpus, reply.server_version)
    try:
        yield server
    except HindmostError as error:
        died = None
        with contextlib.suppress(HindmostError):
            died = _stop(channel, place.host)
        if died and isinstance(error, ClientError):
            gone = TargetError(
                "server-gone",
                f"{error.message}; {name} on {place.host} {died}",
                hint=error.hint,
                **{**error.fields, "host": place.host, "name": name, "cause": error.code},
            )
            gone.shows = "silent"
            raise gone from None
        raise
    _stop(channel, place.host)


def _stop(channel: Channel, host: str) -> str | None:
    """Stop the server there and restore its settings; return how it had died before, if it had."""
    try:
        said: Server | None = channel.ask(host, {"serve": {"name": None}}, SERVE_S).said
    except HostLost:  # its lease stops everything; the next command reports the loss
        return None
    return None if said is None else said.died
