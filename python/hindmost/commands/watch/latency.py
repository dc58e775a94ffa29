"""The source of latency: a probe, or an access log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindmost.core.plan.units import parse_rate
from hindmost.core.targets import Attached, parse_target
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.commands.watch.application import Application

PROBED = ("memcached", "redis", "http")
"""Protocols that a probe speaks."""
AUTO_RATE = 25.0
"""Requests per second of a probe unless they cost more than its budget."""
_PLACE = (
    "json:KEY, key:NAME (of NAME=VALUE) or column:N (from 1; negative from the end), then /s, /ms, /us or /ns"
)

LOGS = {
    "nginx": "column:-1/s",
    "apache": "column:-1/us",
    "envoy": "column:9/ms",
    "envoy-json": "json:duration/ms",
    "caddy": "json:duration/s",
    "traefik": "json:Duration/ns",
}
"""Place of the latency in the access logs of well-known servers. nginx needs ``$request_time`` and Apache
``%D`` at the end of the line, because their `combined` formats contain no latency. The others are
defaults."""


@dataclass(frozen=True, slots=True)
class LatencySource:
    """A latency source: its document for the engine, and a description for people."""

    document: dict[str, Any]
    about: str


def latency_from(
    application: Application,
    *,
    probe: str | None,
    address: str | None = None,
    log: Path | None = None,
    log_latency: str = "nginx",
    budget: float = 0.0005,
) -> LatencySource | None:
    """Build the latency source that the options describe; None if they describe none.

    Parameters
    ----------
    probe : str or None
        A rate such as ``"100/s"``; ``"auto"`` for at most `AUTO_RATE` within the budget; ``"0"`` or None for
        no probe.
    address : str, optional
        URL of a running server, such as ``http://HOST:PORT/PATH``, if the application was named otherwise.
    log : Path, optional
        An access log.
    log_latency : str
        A server of `LOGS`, or the place and unit of the latency in a line.
    budget : float
        Fraction of one CPU that a probe of ``"auto"`` may use.

    Raises
    ------
    UsageError
        The protocol cannot be probed, `address` is not a URL, or the place in the log is not valid.
    TargetError
        The host in `address` cannot be resolved.
    """
    is_auto = probe == "auto"
    rate = (
        0.0
        if probe is None or probe == "0"
        else AUTO_RATE
        if is_auto
        else parse_rate(probe.removesuffix("/s"))
    )
    if log is not None:
        return LatencySource({"log": {"file": str(log), **_place(log_latency)}}, f"the log {log}")
    if address is not None:
        application = application.with_target(_running(address))
    where, protocol = application.address, application.protocol
    if not rate or where is None:
        return None
    if protocol not in PROBED or application.secured or where.startswith("unix:"):
        spoken = (
            "TLS" if application.secured else "over Unix sockets" if where.startswith("unix:") else protocol
        )
        raise UsageError(
            "unknown-name",
            f"a probe speaks {', '.join(PROBED)} over TCP, not {spoken}",
            hint="--probe 0, or --log FILE for the server's own access log",
            option="--probe-address",
            value=protocol,
            known=list(PROBED),
        )
    document: dict[str, Any] = {"address": where, "protocol": protocol, "rate": rate}
    if protocol == "http":
        document |= {"path": application.path, "host": application.host}
    if is_auto:
        document["budget_us"] = round(budget * 1e6)
    return LatencySource({"probe": document}, f"a probe of {'up to ' * is_auto}{rate:g} requests/s")


def _running(address: str) -> Attached:
    """Parse the URL of a running server."""
    target = parse_target(address) if "://" in address else None
    if not isinstance(target, Attached):
        raise UsageError(
            "bad-value",
            f"{address!r} is not the URL of a running server",
            hint="--probe-address http://127.0.0.1:80/health",
            option="--probe-address",
            value=address,
        )
    return target


def _place(text: str) -> dict[str, Any]:
    """Parse where a line of a log contains the latency.

    Examples
    --------
    >>> _place("column:-1/s")
    {'place': {'column': -1}, 'unit': 's'}
    >>> _place("json:duration/ms")
    {'place': {'json': 'duration'}, 'unit': 'ms'}
    >>> _place("envoy")
    {'place': {'column': 9}, 'unit': 'ms'}
    """
    spelled = LOGS.get(text, text)
    found = re.fullmatch(r"(?:column:(-?[1-9]\d*)|(json|key):([^/]+))(?:/(s|ms|us|ns))?", spelled)
    if found is None:
        raise UsageError(
            "bad-value",
            f"{text!r} does not say where a line of the log contains the latency",
            hint=f"{', '.join(LOGS)}, or {_PLACE}",
            option="--log-latency",
            value=text,
            known=list(LOGS),
        )
    place: dict[str, Any] = {"column": int(found[1])} if found[1] else {found[2]: found[3]}
    return {"place": place, "unit": found[4] or "s"}
