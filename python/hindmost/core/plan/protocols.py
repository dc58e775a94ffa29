"""The protocols that the engine speaks, from its table (``crates/wire``).

Nothing else in Python knows them by name. Patterns are regular expressions over bytes, ignoring case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from hindmost import _engine


class Mix(msgspec.Struct, frozen=True):
    """A family of requests: its name in ``workload.kind``, and whether requests name a path or a domain."""

    name: str
    paths: bool
    names: bool

    def workload(self, path: str) -> dict[str, Any]:
        """Return the default workload: requests for `path`, or for the name in it, if requests name one."""
        if self.names and path.strip("/"):
            return {"kind": self.name, "queries": [{"name": path.strip("/")}]}
        return {"kind": self.name, "paths": [path]} if self.paths else {"kind": self.name}


class Answer(msgspec.Struct, frozen=True):
    """The meaning of a first line that starts with ``pattern``; its group is the ``{reply}`` of the message.

    ``shows``: the outcome of every request: an error, or a miss.
    """

    pattern: str
    means: Literal["serves", "not_ready", "refuses"]
    message: str = ""
    hint: str = ""
    shows: Literal["failing", "missing"] | None = None


class Version(msgspec.Struct, frozen=True):
    """Where a reply has the server's version, and how we write it."""

    pattern: str
    written: str


class Ask(msgspec.Struct, frozen=True):
    """One question of a greeting, with the placeholders ``{address}`` and ``{path}``."""

    send: str
    answers: tuple[Answer, ...]
    versions: tuple[Version, ...]


class Entry(msgspec.Struct, frozen=True):
    """Everything about a protocol except how to speak it."""

    name: str
    called: str
    port: int
    tls_scheme: str
    mix: Mix
    framing: Literal[
        "lines", "length_prefixed", "headers", "memcached_binary", "http2", "opening", "datagram"
    ]
    signs: tuple[str, ...]
    greeting: tuple[Ask, ...]
    tls_port: int = 0
    logs_in: bool = False
    alpn: str = ""
    tls_request: str = ""


ENTRIES: dict[str, Entry] = {
    entry.name: entry for entry in msgspec.json.decode(_engine.protocols(), type=tuple[Entry, ...])
}
"""Every protocol by its name, in the table's order."""

PROTOCOLS: tuple[str, ...] = tuple(ENTRIES)

if TYPE_CHECKING:
    Protocol = str
else:
    Protocol = Literal[*PROTOCOLS]
"""The name of a protocol; pydantic refuses any other."""
