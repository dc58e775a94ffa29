"""Resolves TARGET of the command line: a running server, a preset, or a target file."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, unquote

from hindmost.core.names import nearest
from hindmost.core.plan.login import Login
from hindmost.core.plan.protocols import ENTRIES, PROTOCOLS, Entry, Protocol
from hindmost.core.plan.secrets import trust
from hindmost.core.targets.presets import preset, preset_names
from hindmost.core.targets.procfs import join_address
from hindmost.core.targets.spec import TargetSpec, load_target_file
from hindmost.errors import TargetError, UsageError

_FORMS = (
    f"PROTOCOL://HOST:PORT[/PATH] ({', '.join(PROTOCOLS)}), PROTOCOL+unix:///SOCKET,"
    f" over TLS {', '.join(f'{entry.tls_scheme}://' for entry in ENTRIES.values() if entry.tls_scheme)},"
    " a preset, or a .toml file"
)
LONGEST_SOCKET_PATH = 107
"""Length of ``sun_path`` (unix(7)) without its terminator."""
_OPTIONS = "write options like memcached?memory_mib=1024&connections=4096"


@dataclass(frozen=True)
class Attached:
    """A running server that Hindmost sends requests to and never starts or stops.

    Attributes
    ----------
    name
        The target as the user wrote it.
    host, port
        As written; the port defaults to the protocol's own.
    path
        Path to fetch (http), else ``"/"``.
    addresses
        ``IP:PORT`` for every address of the host, IPv4 first; ``unix:/PATH`` for a Unix socket.
    endpoints
        ``HOST:PORT`` of each of several servers, as written; the first is `host` and `port`.
    secured
        Whether its connections use TLS.
    login
        Credentials in the URL; `name` has no password then.
    """

    name: str
    protocol: Protocol
    host: str
    port: int
    path: str
    addresses: tuple[str, ...]
    secured: bool = False
    login: Login | None = None
    endpoints: tuple[str, ...] = ()
    managed: Literal[False] = False

    @property
    def address(self) -> str:
        """The first of `addresses`."""
        return self.addresses[0]


@dataclass(frozen=True)
class Managed:
    """A server that Hindmost starts and restarts itself, from a preset or a target file."""

    name: str
    protocol: Protocol
    spec: TargetSpec
    source: str
    managed: Literal[True] = True

    @property
    def path(self) -> str:
        """Path to fetch (http), else ``"/"``."""
        return self.spec.path


def parse_target(text: str) -> Attached | Managed:
    """Resolve TARGET; this resolves a host name, but connects to nothing and starts nothing.

    Parameters
    ----------
    text : str
        A URL with a protocol as its scheme, a preset, or the path of a target file; the latter two with
        options: ``memcached?memory_mib=1024``.

    Raises
    ------
    UsageError
        If it is none of these, or its port, path or options are invalid.
    TargetError
        If the host's name cannot be resolved.
    """
    text = text.strip()
    if not text:
        raise UsageError(
            "missing-argument", "no target is named", hint=f"TARGET is {_FORMS}", argument="TARGET"
        )
    scheme, found, rest = text.partition("://")
    if found:
        return _parse_url(text, scheme.lower(), rest)
    name, _, query = text.partition("?")
    if name in preset_names():
        spec, source = preset(name), f"preset {name}"
    elif name.endswith(".toml") or Path(name).is_file():
        spec, source = load_target_file(name), name
    else:
        raise _unknown(name)
    if query:
        spec = spec.with_options(_options(text, query))
    return Managed(spec.name, spec.protocol, spec, source)


def _unknown(name: str) -> UsageError:
    host, _, port = name.rpartition(":")
    if host and port.isdigit():
        # Of several protocols with this port, the first in the table is the most common.
        likely = next((entry.name for entry in ENTRIES.values() if entry.port == int(port)), PROTOCOLS[0])
        return UsageError(
            "missing-argument",
            f"target {name!r} does not name a protocol",
            hint=f"write {likely}://{name}",
            name="protocol",
            value=name,
            meant=f"{likely}://{name}",
        )
    return UsageError(
        "unknown-name",
        f"target {name!r} is neither a preset, a file, nor a URL{nearest(name, preset_names())}",
        hint=f"TARGET is {_FORMS}; presets: {', '.join(preset_names())}",
        name=name,
        known=preset_names(),
    )


def _options(text: str, query: str) -> dict[str, object]:
    options: dict[str, object] = {}
    for part in query.split("&"):
        name, sign, value = part.partition("=")
        if not sign or not name:
            raise UsageError(
                "bad-value",
                f"option {part!r} in target {text!r} is not NAME=VALUE",
                hint=_OPTIONS,
                name="option",
                value=text,
                part=part,
            )
        if name in options:
            raise UsageError(
                "duplicate-name",
                f"option {name!r} is given twice in target {text!r}",
                hint=_OPTIONS,
                name=name,
                value=text,
            )
        (_, plain), *_ = parse_qsl(f"x={value}", keep_blank_values=True, separator="\n")
        try:
            options[name] = json.loads(plain)
        except ValueError:
            options[name] = plain
    return options


def _parse_url(text: str, scheme: str, rest: str) -> Attached:
    base, plus, transport = scheme.partition("+")
    by_tls_scheme = {entry.tls_scheme: entry for entry in ENTRIES.values() if entry.tls_scheme}
    protocol = ENTRIES.get(base) or by_tls_scheme.get(base)
    if scheme == "unix":
        raise UsageError(
            "missing-argument",
            f"target {text!r} does not name a protocol",
            hint=f"write {' or '.join(f'{name}+unix://{rest}' for name in PROTOCOLS)}",
            name="protocol",
            value=text,
        )
    if protocol is None or (plus and transport != "unix"):
        raise UsageError(
            "unknown-name",
            f"unknown protocol {scheme!r} in target"
            f" {without_password(text)!r}{nearest(scheme, [*PROTOCOLS, *by_tls_scheme])}",
            hint=f"TARGET is {_FORMS}",
            name=scheme,
            known=[*PROTOCOLS, *by_tls_scheme],
        )
    secured = base in by_tls_scheme
    if plus:
        return _on_unix_socket(text, protocol, rest, secured)
    match = re.match(r"([^/?#]*)([^#]*)(#.*)?$", rest, re.DOTALL)
    assert match is not None
    authority, path, fragment = match[1], match[2], match[3]
    whole, at, place = authority.rpartition("@")
    if at and not protocol.logs_in:
        raise UsageError(
            "unsupported",
            f"target {scheme}://...@{place} names a user or password, but {protocol.name} has no place for"
            " one in its URL",
            hint="--header 'Authorization: ...'" if protocol.mix.paths else f"write {scheme}://{place}",
            name="login",
            protocol=protocol.name,
        )
    login = None
    if protocol.logs_in:
        # The study stores and shows the target without its password.
        text = without_password(text)
        login, authority, path = _login(text, whole if at else "", path), place, ""
    if fragment:
        raise UsageError(
            "bad-value",
            f"target {text!r} has a fragment ({fragment}), which is never sent",
            hint=f"write {scheme}://{authority}{path}",
            name="fragment",
            value=text,
        )
    if not (protocol.mix.paths or protocol.mix.names) and path not in ("", "/"):
        raise UsageError(
            "bad-value",
            f"target {text!r}: {scheme} has no path",
            hint=f"write {scheme}://{authority}",
            name="path",
            value=text,
        )
    if (protocol.mix.paths or protocol.mix.names) and (
        not path.isascii() or re.search(r"[\x00-\x20\x7f]", path)
    ):
        raise UsageError(
            "bad-value",
            f"target {text!r}: the path has a character that must be written as %XX",
            hint=f"write {scheme}://{authority}{quote(path, safe='/?&=%')}",
            name="path",
            value=text,
        )
    if path.startswith("?"):
        path = "/" + path
    default = (secured and protocol.tls_port) or protocol.port
    servers = [_host_and_port(text, part, default) for part in authority.split(",")]
    if not all(port for _, port in servers):
        raise UsageError(
            "missing-argument",
            f"target {text!r} names no port, and {protocol.name} has no default port",
            hint=f"write {text}:PORT",
            name="port",
            value=text,
        )
    endpoints = [join_address(host, port) for host, port in servers]
    if twice := next((endpoint for endpoint in endpoints if endpoints.count(endpoint) > 1), None):
        raise UsageError(
            "duplicate-name",
            f"target {text!r} names {twice} twice",
            hint="name each server once",
            name=twice,
            value=text,
        )
    host, port = servers[0]
    addresses = resolve_host(host, port)
    several = tuple(endpoints) if len(servers) > 1 else ()
    if login is not None and text in sys.argv:  # a stored study may come from someone else
        trust(login.model_dump())
    return Attached(text, protocol.name, host, port, path or "/", addresses, secured, login, several)


def without_password(text: str) -> str:
    """Return a target as it may be shown.

    Examples
    --------
    >>> without_password("redis://ada:secret@cache/3"), without_password("redis")
    ('redis://ada@cache/3', 'redis')
    """
    return re.sub(r"^([^:/]+://[^:/?#]*):[^/?#]*@", r"\1@", text)


def _login(text: str, credentials: str, path: str) -> Login | None:
    """Read ``USER:PASSWORD@`` and ``/DATABASE?protocol=3`` of a URL."""
    user, _, password = credentials.partition(":")
    database, _, query = path.removeprefix("/").partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    protocol = options.pop("protocol", None)
    if options or protocol not in (None, "2", "3"):
        raise UsageError(
            "unknown-key",
            f"target {text!r}: unknown option {query!r}",
            hint="write ?protocol=3 for RESP3",
            key=query,
            value=text,
            known=["protocol"],
        )
    parts = {"user": unquote(user), "password": unquote(password), "database": unquote(database)}
    given: dict[str, Any] = {name: value for name, value in parts.items() if value}
    if protocol is not None:
        given["protocol"] = int(protocol)
    return Login(**given) if given else None


def _on_unix_socket(text: str, protocol: Entry, rest: str, secured: bool) -> Attached:
    """Read ``PROTOCOL+unix:///SOCKET``, or for protocols with paths ``PROTOCOL+unix:///SOCKET:/PATH``."""
    socket_path, _, path = rest.partition(":") if protocol.mix.paths else (rest, "", "")
    if not socket_path.startswith("/") or "\0" in socket_path:
        form = f"{protocol.name}+unix:///run/server.sock{':/PATH' if protocol.mix.paths else ''}"
        raise UsageError(
            "bad-value",
            f"target {text!r} does not name a Unix socket by its absolute path",
            hint=f"write {form}",
            name="socket",
            value=text,
        )
    if len(os.fsencode(socket_path)) > LONGEST_SOCKET_PATH:
        raise UsageError(
            "bad-value",
            f"target {text!r}: the path of a Unix socket has at most {LONGEST_SOCKET_PATH} bytes",
            hint=f"ln -s {socket_path} /tmp/server.sock, and measure that",
            name="socket",
            value=text,
            most=LONGEST_SOCKET_PATH,
        )
    address = f"unix:{socket_path}"
    return Attached(text, protocol.name, socket_path, 0, path or "/", (address,), secured)


def _host_and_port(text: str, authority: str, default: int) -> tuple[str, int]:
    if authority.startswith("["):
        match = re.fullmatch(r"\[([^\]]*)\](?::(.*))?", authority)
        if match is None:
            raise UsageError(
                "bad-value",
                f"target {text!r}: its IPv6 address is not closed",
                hint="write [ADDRESS]:PORT",
                name="host",
                value=text,
            )
        host, port = match[1], match[2]
        try:
            socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
        except OSError:
            raise UsageError(
                "bad-value",
                f"target {text!r}: {host!r} is not an IPv6 address",
                hint="write [ADDRESS]:PORT, like [::1]:11211",
                name="host",
                value=text,
            ) from None
    elif authority.count(":") > 1:
        raise UsageError(
            "bad-value",
            f"target {text!r}: an IPv6 address needs brackets",
            hint="write [ADDRESS]:PORT",
            name="host",
            value=text,
        )
    else:
        host, colon, after = authority.partition(":")
        port = after if colon else None
    if not host:
        raise UsageError(
            "missing-argument",
            f"target {text!r} names no host",
            hint="write 127.0.0.1 for this machine",
            name="host",
            value=text,
        )
    if port is None:
        return host, default
    if not re.fullmatch(r"[0-9]{1,9}", port) or not 1 <= int(port) <= 65535:
        raise UsageError(
            "bad-value",
            f"target {text!r}: port {port!r} is not in 1..65535",
            hint=f"default: {default}",
            name="port",
            value=text,
            port=port,
            least=1,
            most=65535,
        )
    return host, int(port)


def resolve_host(host: str, port: int) -> tuple[str, ...]:
    """Return every ``IP:PORT`` of a host, IPv4 first (most servers listen there), without repetition.

    Raises
    ------
    TargetError
        If the name cannot be resolved.
    """
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TargetError(
            "unresolvable",
            f"cannot resolve host {host!r}: {reason}",
            hint=f"getent hosts {host}",
            host=host,
            reason=reason,
        ) from None
    infos.sort(key=lambda entry: entry[0] != socket.AF_INET)
    scoped = (_with_scope(str(address[0]), address) for *_, address in infos)
    return tuple(dict.fromkeys(join_address(ip, port) for ip in scoped))


def _with_scope(ip: str, address: tuple[object, ...]) -> str:
    """Keep the zone of a link-local address (RFC 4007), which is needed to connect to it."""
    return f"{ip}%{address[3]}" if len(address) == 4 and address[3] and "%" not in ip else ip
