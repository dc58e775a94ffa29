"""The workload that the options about requests describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hindmost.core.notes import Note
from hindmost.core.plan import http, load_workload
from hindmost.core.plan.codes import parse_codes
from hindmost.core.plan.grpc import with_calls
from hindmost.core.plan.protocols import ENTRIES
from hindmost.core.plan.sources import read_requests
from hindmost.core.run.request import OPTIONS, MeasureRequest
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.core.targets import Attached, Managed

HTTP_OPTIONS = ("accept", "check", "follow", "method", "body", "header", "requests")
"""Options about HTTP requests."""
STREAMED = ("http", "http2", "grpc")
"""Protocols whose replies may be streams of messages."""


def workload_of(
    request: MeasureRequest, target: Attached | Managed
) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """Return the workload, and notes on what it leaves out of its source.

    Raises
    ------
    UsageError
        If options contradict each other, or are for another protocol.
    """
    mix = ENTRIES[target.protocol].mix
    given = [name for name in HTTP_OPTIONS if getattr(request, name) != OPTIONS[name].default]
    if request.descriptors is not None and target.protocol != "grpc":
        raise UsageError(
            "unsupported",
            f"--descriptors is for gRPC, but {target.name} speaks {target.protocol}",
            hint="leave out --descriptors, or measure a grpc:// target",
            option="--descriptors",
            protocol=target.protocol,
        )
    if request.stream and target.protocol not in STREAMED:
        raise UsageError(
            "unsupported",
            f"--stream is for HTTP and gRPC, but {target.name} speaks {target.protocol}",
            hint="leave out --stream, or measure an http:// or grpc:// target",
            option="--stream",
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
    for name in ("check", "follow"):
        if name in given and target.protocol != "http":
            raise UsageError(
                "unsupported",
                f"--{name} is for HTTP/1, but {target.name} speaks {target.protocol}",
                hint=f"leave out --{name}, or measure an http:// target",
                option=f"--{name}",
                protocol=target.protocol,
            )
    sources = [
        name for name in ("workload", "requests", "method", "body") if getattr(request, name) is not None
    ]
    if len(set(sources) - {"body"}) > 1 or (len(sources) > 1 and "method" not in sources):
        first, other = (OPTIONS[name].flag for name in sources[:2])
        raise UsageError(
            "conflicting-options",
            f"{first} and {other} both state what to request",
            hint=f"leave out {first} or {other}",
            options=[first, other],
        )
    workload = mix.workload(target.path) if request.workload is None else load_workload(request.workload)
    notes: tuple[Note, ...] = ()
    if request.requests is not None and mix.name == "http":
        workload, notes = read_requests(request.requests)
    if given:
        workload = (
            _add_http_options(request, workload, target.path)
            if mix.name == "http"
            else _add_message_options(request, workload)
        )
    return (_add_calls(request, workload) if target.protocol == "grpc" else workload), notes


def _add_http_options(request: MeasureRequest, workload: dict[str, Any], path: str) -> dict[str, Any]:
    """Apply the options for HTTP to a workload."""
    if request.method is not None or request.body is not None:
        workload = http.one_request(path, request.method, request.body)
    if request.header:
        workload = http.with_headers(workload, http.parse_headers(request.header))
    if request.check:
        workload = workload | {"checks": list(request.check)}
    if request.follow is not None:
        workload = workload | {"follow": request.follow}
    return workload if request.accept is None else workload | {"accept": parse_codes(request.accept)}


def _add_message_options(request: MeasureRequest, workload: dict[str, Any]) -> dict[str, Any]:
    """Apply the options for messages and for the handshake to a WebSocket workload."""
    for name in (name for name in HTTP_OPTIONS if name not in ("body", "header")):
        if getattr(request, name) != OPTIONS[name].default:
            raise UsageError(
                "unsupported",
                f"{OPTIONS[name].flag} is for HTTP requests, not for WebSocket messages",
                hint=f"leave out {OPTIONS[name].flag}; --body is the message, --header is for the handshake",
                option=OPTIONS[name].flag,
                protocol="websocket",
            )
    if request.body is not None:
        workload = workload | {"requests": [{"send": http.read_text(request.body)}]}
    return http.with_headers(workload, http.parse_headers(request.header)) if request.header else workload


def _add_calls(request: MeasureRequest, workload: dict[str, Any]) -> dict[str, Any]:
    """Encode the calls of a gRPC workload."""
    for name in ("method", "accept"):
        if getattr(request, name) is not None:
            raise UsageError(
                "unsupported",
                f"--{name} is for HTTP; gRPC calls have their own methods and status codes",
                hint=f"leave out --{name}",
                option=f"--{name}",
                protocol="grpc",
            )
    return with_calls(workload, request.descriptors, stream=request.stream)
