"""Checks the replies of load hosts and of the broker: a compromised host must not affect the controller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from hindmost.core.codes import CODES
from hindmost.core.documents import parse_json
from hindmost.core.exits import Exit
from hindmost.core.store.manifest import Silence
from hindmost.errors import ClientError, HindmostError, HostUnfit


class Hello(msgspec.Struct):
    """The build of Hindmost on a host, and the host's own name."""

    version: str
    engine: str
    hostname: str


class Finding(msgspec.Struct):
    """One finding of a host's check."""

    id: str
    title: str
    value: str
    mark: str
    why: str | UnsetType | None = UNSET
    hint: str | UnsetType | None = UNSET


class Doctor(msgspec.Struct):
    """A host's check of itself."""

    findings: list[Finding]


class Place(msgspec.Struct):
    """Where a client runs."""

    index: int
    cpus: list[int]
    pid: int


class Event(msgspec.Struct):
    """A message of a client."""

    event: str
    ports: list[int] | UnsetType = UNSET
    replies: int | UnsetType = UNSET
    code: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    fields: dict[str, Any] | UnsetType = UNSET
    who: str | UnsetType = UNSET
    status: int | UnsetType = UNSET
    words: str | UnsetType = UNSET


class Messages(msgspec.Struct):
    """Messages by client, and what the host sent and received while it measured."""

    events: list[tuple[int, Event]]
    channel: Silence | None


class Server(msgspec.Struct):
    """A started server: its address and command; or a stopped one: how it had died before."""

    address: str = ""
    command: list[str] = []
    cpus: list[int] = []
    server_version: str | None = None
    died: str | None = None


class RestoredSetting(msgspec.Struct):
    """A setting that was restored on a host, or could not be."""

    name: str
    value: str | None
    failure: str | None


MOST_BYTES = 128 << 20
"""Most bytes of a line to or from the broker; the longest have the files of a plan, or a piece of a file."""
KINDS: dict[str, Any] = {
    "hello": Hello,
    "clock": None,
    "doctor": Doctor,
    "reach": None,
    "start": list[Place],
    "order": None,
    "listen": Messages,
    "fetch": list[tuple[str, int]] | str,
    "stop": None,
    "serve": Server | None,
    "knob": None,
    "recover": list[RestoredSetting],
    "leave": None,
}
"""The type of a host's reply to each command."""


class Fault(msgspec.Struct):
    """An error reported by a host (`error_document`)."""

    code: str
    message: str
    hint: str | None = None
    fields: dict[str, Any] = {}
    unfit: bool = False
    kind: str = "ClientError"


class Rights(msgspec.Struct):
    """The rights of the broker: its user id, and whether the kernel enforces all restrictions."""

    user: int
    confined: bool


class HostReply(msgspec.Struct):
    """The outcome of a command that the broker passed on.

    Attributes
    ----------
    reply : str
        The host's text, unchecked.
    asked_ns, answered_ns : int
        When the broker passed the command on and got the reply, by the monotonic clock.
    late : bool
        No reply came in time.
    lost, missing : str or None
        Why the connection ended; why the host has no Hindmost.
    """

    reply: str = ""
    asked_ns: int = 0
    answered_ns: int = 0
    late: bool = False
    lost: str | None = None
    missing: str | None = None


class _Piece(msgspec.Struct):
    first: int
    answers: Any


class _Note(msgspec.Struct):
    code: str
    text: str
    values: dict[str, Any]


class Part(msgspec.Struct):
    """A part of a batch's results: a piece, or a note."""

    piece: _Piece | None = None
    note: _Note | None = None


class Reply(msgspec.Struct):
    """A checked reply: ``ok`` has the command's type; ``heard_ns`` and ``said_ns`` are by its clock."""

    ok: Any = None
    error: Fault | None = None
    heard_ns: int = 0
    said_ns: int = 0


def read_reply(host: str, command: str, text: str) -> Reply:
    """Parse a host's reply.

    Raises
    ------
    InstanceError
        ``bad-reply`` if it is not a valid reply to this command.
    """
    try:
        reply = msgspec.convert(parse_json(text), Reply)
        if reply.error is None:
            reply.ok = msgspec.convert(reply.ok, KINDS[command])
    except ValueError as error:  # includes msgspec's and JSON's errors
        raise bad_reply(host, command, str(error)) from None
    return reply


def bad_reply(host: str, command: str, why: str) -> ClientError:
    """Return the error for a host with an invalid reply."""
    return ClientError(
        "bad-reply",
        f"host {host} sent an invalid reply to `{command}`: {why[:300]}",
        hint=f"look at {host}: another program may answer in Hindmost's place",
        host=host,
        command=command,
    )


def error_document(error: HindmostError) -> dict[str, Any]:
    """Return an error in the form that a host or the broker reports."""
    return {
        "kind": type(error).__name__,
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "fields": json.loads(json.dumps(error.fields, default=str)),
        "unfit": isinstance(error, HostUnfit),
    }


def error_from(host: str, fault: Fault) -> ClientError:
    """Return the error that a host reports."""
    return ClientError(
        known_code(fault.code),
        f"host {host}: {fault.message}",
        hint=fault.hint,
        exit_code=Exit.UNFIT if fault.unfit else None,
        **known_fields(fault.fields) | {"host": host},
    )


def known_code(code: str) -> str:
    """Return the code if we know it, else ``bad-reply``."""
    return code if code in CODES else "bad-reply"


def known_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields except those that are arguments of an error itself."""
    reserved = {"code", "message", "hint", "exit_code", "self"}
    return {name: value for name, value in fields.items() if name not in reserved}
