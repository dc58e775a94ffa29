"""The server under test, on the host of ``[target]``: started there for each run, and stopped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hindmost.errors import HindmostError, HostLost, HostUnfit, InstanceError, TargetError
from hindmost.exits import Exit
from hindmost.fleet.dask.channel import Channel
from hindmost.fleet.dask.hosts import TargetPlace
from hindmost.fleet.fleet import Served, Setting

SERVE_S = 90.0


@contextmanager
def served(
    channel: Channel, place: TargetPlace, name: str, cpus: Sequence[int], settings: Sequence[Setting]
) -> Iterator[Served]:
    """Start a server on the host of ``[target]``, freshly for each run; stop it afterwards."""
    listen = place.listen or channel.address_of(place.host)
    told = [{"what": dict(one.what), "level": one.level} for one in settings]
    start = {"serve": {"name": name, "listen": listen, "cpus": list(cpus), "settings": told}}
    try:
        found = channel.ask(place.host, start, SERVE_S).said
    except HostLost:
        raise
    except InstanceError as error:
        kind = HostUnfit if error.exit_code == Exit.UNFIT else TargetError
        raise kind(error.code, error.message, hint=error.hint, **error.fields) from None
    served = Served(place.host, found["address"], found["command"], found["cpus"], found["server_version"])
    try:
        yield served
    except HindmostError as error:
        died = None
        with contextlib.suppress(HindmostError):
            died = _stopped(channel, place.host)
        if died and isinstance(error, InstanceError):
            gone = TargetError(
                "server-gone",
                f"{error.message}; {name} on {place.host} {died}",
                hint=error.hint,
                **{**error.fields, "host": place.host, "name": name, "cause": error.code},
            )
            gone.shows = "silent"
            raise gone from None
        raise
    _stopped(channel, place.host)


def _stopped(channel: Channel, host: str) -> str | None:
    """Stop the server there, and put back what was set; says how it had ended by itself, if it had."""
    try:
        said = channel.ask(host, {"serve": {"name": None}}, SERVE_S).said
    except HostLost:  # its own end stops all, and whatever comes next is told that it is lost
        return None
    return None if said is None else said["died"]
