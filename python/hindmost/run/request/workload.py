"""What a measurement asks its server for, by the options about requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hindmost.errors import UsageError
from hindmost.notes import Note
from hindmost.plan import http, load_workload
from hindmost.plan.codes import parse_codes
from hindmost.plan.grpc import with_calls
from hindmost.plan.protocols import ENTRIES
from hindmost.plan.sources import read_requests
from hindmost.run.request import OPTIONS, MeasureRequest

if TYPE_CHECKING:
    from hindmost.targets import Attached, Managed

OF_HTTP = ("accept", "method", "body", "header", "requests")
"""Options that say something of requests of HTTP."""


def workload_of(asked: MeasureRequest, target: Attached | Managed) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """The workload, and notes on what of its source is not in it.

    Raises
    ------
    UsageError
        If options contradict each other, or are about another protocol.
    """
    mix = ENTRIES[target.protocol].mix
    given = [one for one in OF_HTTP if getattr(asked, one) != OPTIONS[one].default]
    if asked.descriptors is not None and target.protocol != "grpc":
        raise UsageError(
            "unsupported",
            f"--descriptors is for gRPC, but {target.name} speaks {target.protocol}",
            hint="leave out --descriptors, or measure a grpc:// target",
            option="--descriptors",
            protocol=target.protocol,
        )
    if given and not mix.paths:
        raise UsageError(
            "unsupported",
            f"{OPTIONS[given[0]].flag} is for HTTP, but {target.name} speaks {target.protocol}",
            hint=f"leave out {OPTIONS[given[0]].flag}, or measure an http:// target",
            option=OPTIONS[given[0]].flag,
            protocol=target.protocol,
        )
    sources = [one for one in ("workload", "requests", "method", "body") if getattr(asked, one) is not None]
    if len(set(sources) - {"body"}) > 1 or (len(sources) > 1 and "method" not in sources):
        one, other = (OPTIONS[name].flag for name in sources[:2])
        raise UsageError(
            "conflicting-options",
            f"{one} and {other} both state what to request",
            hint=f"leave out {one} or {other}",
            options=[one, other],
        )
    workload = mix.workload(target.path) if asked.workload is None else load_workload(asked.workload)
    notes: tuple[Note, ...] = ()
    if asked.requests is not None and mix.name == "http":
        workload, notes = read_requests(asked.requests)
    if given:
        workload = (
            _of_http(asked, workload, target.path) if mix.name == "http" else _of_messages(asked, workload)
        )
    return (_of_grpc(asked, workload) if target.protocol == "grpc" else workload), notes


def _of_http(asked: MeasureRequest, workload: dict[str, Any], path: str) -> dict[str, Any]:
    """A workload with what the options for HTTP say."""
    if asked.method is not None or asked.body is not None:
        workload = http.one_request(path, asked.method, asked.body)
    if asked.header:
        workload = http.with_headers(workload, http.parse_headers(asked.header))
    return workload if asked.accept is None else workload | {"accept": parse_codes(asked.accept)}


def _of_messages(asked: MeasureRequest, workload: dict[str, Any]) -> dict[str, Any]:
    """A workload of messages, with what the options say of their text and of the opening."""
    for name in (one for one in OF_HTTP if one not in ("body", "header")):
        if getattr(asked, name) != OPTIONS[name].default:
            raise UsageError(
                "unsupported",
                f"{OPTIONS[name].flag} is for HTTP requests, not for WebSocket messages",
                hint=f"leave out {OPTIONS[name].flag}; --body is the message, --header is for the handshake",
                option=OPTIONS[name].flag,
                protocol="websocket",
            )
    if asked.body is not None:
        workload = workload | {"requests": [{"send": http.read_text(asked.body)}]}
    return http.with_headers(workload, http.parse_headers(asked.header)) if asked.header else workload


def _of_grpc(asked: MeasureRequest, workload: dict[str, Any]) -> dict[str, Any]:
    """A workload whose requests are calls."""
    for name in ("method", "accept"):
        if getattr(asked, name) is not None:
            raise UsageError(
                "unsupported",
                f"--{name} is for HTTP; gRPC calls have their own methods and status codes",
                hint=f"leave out --{name}",
                option=f"--{name}",
                protocol="grpc",
            )
    return with_calls(workload, asked.descriptors)
