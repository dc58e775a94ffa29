"""Where latency comes from: a probe, or an access log."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindmost.errors import TargetError, UsageError
from hindmost.plan.units import parse_rate

if TYPE_CHECKING:
    from hindmost.watch.application import Application

PROBED = ("memcached", "redis", "http")
"""Protocols that a probe speaks."""
_PLACE = "json:KEY, or column:N (from 1; negative from the end), then /s, /ms or /us"


@dataclass(frozen=True, slots=True)
class LatencySource:
    """As the engine has it, and for people."""

    document: dict[str, Any]
    about: str


def latency_from(
    application: Application,
    *,
    probe: str | None,
    address: str | None = None,
    log: Path | None = None,
    log_latency: str = "column:-1/s",
) -> LatencySource | None:
    """Build the source that was asked for; None where there is none.

    Parameters
    ----------
    probe : str or None
        A rate, as ``"100/s"``; ``"0"`` or None: no probe.
    address : str, optional
        ``memcached://HOST:PORT``, where the application was named otherwise.
    log : Path, optional
        An access log.
    log_latency : str
        Where a line holds the latency, and in which unit.

    Raises
    ------
    UsageError
        Both were asked for, the protocol cannot be probed, or a place in the log is none.
    """
    rate = 0.0 if probe is None or probe == "0" else parse_rate(probe.removesuffix("/s"))
    if log is not None:
        return LatencySource({"log": {"file": str(log), **_place(log_latency)}}, f"the log {log}")
    where, protocol = application.address, application.protocol
    if address is not None:
        protocol, _, where = address.partition("://")
    if not rate or where is None:
        return None
    if protocol not in PROBED:
        raise UsageError(
            f"a probe speaks {', '.join(PROBED)}, not {protocol}",
            hint="--probe 0, or --log FILE for the server's own account of latency",
        )
    document = {"address": _numbers(where), "protocol": protocol, "rate": rate}
    return LatencySource({"probe": document}, f"a probe of {rate:g} requests a second")


def _numbers(address: str) -> str:
    """The address in numbers: the engine asks no name server."""
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0][4]
        place, number = str(found[0]), int(found[1])
    except (OSError, ValueError) as error:
        raise TargetError(f"{address} is no address: {error}") from None
    return f"[{place}]:{number}" if ":" in place else f"{place}:{number}"


def _place(text: str) -> dict[str, Any]:
    """Read where a log's line holds the latency.

    Examples
    --------
    >>> _place("column:-1/s")
    {'place': {'column': -1}, 'unit': 's'}
    >>> _place("json:duration/ms")
    {'place': {'json': 'duration'}, 'unit': 'ms'}
    """
    found = re.fullmatch(r"(?:column:(-?[1-9]\d*)|json:([^/]+))(?:/(s|ms|us))?", text)
    if found is None:
        raise UsageError(f"{text!r} is no place of a latency in a line", hint=_PLACE)
    place: dict[str, Any] = {"column": int(found[1])} if found[1] else {"json": found[2]}
    return {"place": place, "unit": found[3] or "s"}
