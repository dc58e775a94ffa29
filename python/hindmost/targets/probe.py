"""Ask a server who it is: the ready probe of managed targets, the identity check of attached ones."""

from __future__ import annotations

import contextlib
import errno
import re
import socket
import time
from collections.abc import Sequence

from hindmost.errors import TargetError
from hindmost.targets.procfs import join_address, split_address
from hindmost.targets.spec import PROTOCOLS, Protocol

MAX_REPLY = 1 << 16


class NotListening(TargetError):
    """Nothing accepts connections at the address (refused)."""


class NotReady(TargetError):
    """The server speaks the right protocol but does not serve yet."""


class WrongProtocol(TargetError):
    """Something else answers at the address."""


class _HungUp(WrongProtocol):
    """It closed the connection without a word."""


def identify(address: str, protocol: Protocol, timeout_s: float = 2.0, *, path: str = "/") -> str:
    """Make sure that a server speaks `protocol`; return its version.

    Parameters
    ----------
    address : str
        ``IP:PORT``; IPv6 in brackets.
    protocol : {"memcached", "redis", "http"}
        What it should speak.
    timeout_s : float
        Seconds for the connection and the answer together.
    path : str
        What to fetch (http).

    Returns
    -------
    str
        Such as ``1.6.18`` (memcached), ``7.0.15`` (redis), ``nginx/1.22.1`` (http: its Server header, or
        ``HTTP/1.1``).

    Raises
    ------
    TargetError
        Unreachable, refused (`NotListening`), silent, not ready (`NotReady`), or `WrongProtocol`, which says
        what answered.
    """
    try:
        return _identify(address, protocol, timeout_s, path)
    except _HungUp:
        # memcached does so to what looks like HTTP: ask it in the other protocols what it is.
        for other in PROTOCOLS:
            try:
                version = _identify(address, other, timeout_s, "/") if other != protocol else ""
            except TargetError:
                continue
            if version:
                raise WrongProtocol(
                    f"{address} does not speak {protocol}: it is {other} {version}",
                    hint=f"write {other}://{address}",
                ) from None
        raise


def _identify(address: str, protocol: Protocol, timeout_s: float, path: str) -> str:
    deadline = time.monotonic() + timeout_s
    with _connect(address, timeout_s) as connection:
        talk = _Talk(connection, address, protocol, timeout_s, deadline)
        match protocol:
            case "memcached":
                return _memcached(talk)
            case "redis":
                return _redis(talk)
            case "http":
                return _http(talk, path)


def first_answering(
    addresses: Sequence[str], protocol: Protocol, timeout_s: float = 2.0, *, path: str = "/"
) -> tuple[str, str]:
    """Return the first of a host's addresses that `identify` accepts, and the version it found there.

    Raises
    ------
    TargetError
        The first address's problem, if none is accepted.
    """
    problem: TargetError | None = None
    for address in addresses:
        try:
            return address, identify(address, protocol, timeout_s, path=path)
        except TargetError as error:
            problem = problem or error
    raise problem or TargetError("no address to try")


def accepts(address: str, timeout_s: float = 2.0) -> None:
    """Make sure that a connection is accepted; raises like `identify`."""
    _connect(address, timeout_s).close()


def _connect(address: str, timeout_s: float) -> socket.socket:
    host, port = split_address(address)
    try:
        connection = socket.create_connection((host, port), timeout=timeout_s)
    except ConnectionRefusedError:
        raise _refused(address) from None
    except TimeoutError:
        raise TargetError(
            f"{address} did not answer a connection attempt within {timeout_s:g} s",
            hint=f"is the host up, and does a firewall drop port {port}? try: ping {host}",
        ) from None
    except OSError as error:
        no_route = error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH)
        hint = f"ip route get {host}" if no_route else f"ping {host}"
        raise TargetError(f"cannot reach {address}: {error.strerror or error}", hint=hint) from None
    # Polling a free ephemeral port may connect to itself (simultaneous open): nobody listens there.
    if connection.getsockname() == connection.getpeername():
        connection.close()
        raise _refused(address)
    return connection


def _refused(address: str) -> NotListening:
    _, port = split_address(address)
    return NotListening(
        f"connection refused: nothing listens on {address}",
        hint=f"start the server, or check the port: ss -ltn 'sport = :{port}'",
    )


class _Talk:
    """One connection and what has to be said about it when it goes wrong."""

    def __init__(
        self, connection: socket.socket, address: str, protocol: Protocol, timeout_s: float, deadline: float
    ) -> None:
        self.connection, self.address, self.protocol = connection, address, protocol
        self.timeout_s, self.deadline = timeout_s, deadline
        self.reply = b""

    def ask(self, request: bytes) -> None:
        with contextlib.suppress(ConnectionError):  # a server that hangs up may have said why: read it
            self.connection.settimeout(max(0.001, self.deadline - time.monotonic()))
            self.connection.sendall(request)

    def more(self) -> bool:
        """Read more of the reply; False when the server hung up."""
        left = self.deadline - time.monotonic()
        try:
            if left <= 0:
                raise TimeoutError
            self.connection.settimeout(left)
            chunk = self.connection.recv(MAX_REPLY)
        except TimeoutError:
            if self.reply:
                raise self.wrong() from None
            raise TargetError(
                f"{self.address} accepted the connection but said nothing within {self.timeout_s:g} s; "
                f"a {self.protocol} server would have answered",
                hint="is the server overloaded or stopped, or does it wait for TLS?",
            ) from None
        except ConnectionError:
            return False
        self.reply += chunk
        return bool(chunk) and len(self.reply) < MAX_REPLY

    def line(self) -> bytes:
        """The first line of the reply, which is taken off it."""
        while b"\r\n" not in self.reply and self.more():
            pass
        line, found, rest = self.reply.partition(b"\r\n")
        if not found:
            raise self.wrong()
        self.reply = rest
        return line

    def wrong(self, line: bytes = b"") -> TargetError:
        """The error that says what answered instead."""
        heard = line + (b"\r\n" + self.reply if line else self.reply)
        if not heard:
            return _HungUp(
                f"{self.address} closed the connection without an answer; "
                f"a {self.protocol} server would have answered",
                hint=f"is this the {self.protocol} port, and may this host connect to it?",
            )
        what, scheme = recognise(heard)
        first = heard.splitlines()[0][:80].decode("ascii", "backslashreplace")
        return WrongProtocol(
            f"{self.address} does not speak {self.protocol}: it answered {first!r}"
            + (f", which looks like {what}" if what else ""),
            hint=f"write {scheme}://{self.address}"
            if scheme
            else f"which port has the {self.protocol} server?",
        )


def recognise(reply: bytes) -> tuple[str | None, Protocol | None]:
    """Guess from a reply what sent it: a name for people, and the protocol if it is one of ours.

    Examples
    --------
    >>> recognise(b"-ERR unknown command 'version'")
    ('redis', 'redis')
    """
    known: list[tuple[bytes, str, Protocol | None]] = [
        (rb"HTTP/\d", "an HTTP server", "http"),
        (rb"\s*<(!doctype|html)", "an HTTP server", "http"),
        (rb"[-+](ERR|PONG|NOAUTH|DENIED|LOADING|NOPERM|OK)", "redis", "redis"),
        (rb"(VERSION |(ERROR|CLIENT_ERROR|SERVER_ERROR)\b)", "memcached", "memcached"),
        (rb"SSH-\d", "an SSH server", None),
        (rb"\x15\x03", "a TLS server", None),
        (rb"[\x00-\xff]{3}\x00\x0a\d+\.", "MySQL", None),
        (rb"220[ -]", "a mail or FTP server", None),
        (rb"\x00\x00.\x04\x00", "an HTTP/2 server", None),
    ]
    for pattern, what, scheme in known:
        if re.match(pattern, reply, re.IGNORECASE | re.DOTALL):
            return what, scheme
    return None, None


def _memcached(talk: _Talk) -> str:
    talk.ask(b"version\r\n")
    line = talk.line()
    if not line.startswith(b"VERSION "):
        raise talk.wrong(line)
    return line[8:].strip().decode("ascii", "replace")


def _redis(talk: _Talk) -> str:
    talk.ask(b"*1\r\n$4\r\nPING\r\n")
    line = talk.line()
    if line.startswith((b"-NOAUTH", b"-DENIED", b"-NOPERM")):
        raise TargetError(
            f"redis on {talk.address} refuses to serve: {line[1:120].decode('ascii', 'replace')}",
            hint="Hindmost does not log in yet: measure a redis without password and protected mode",
        )
    if line.startswith((b"-LOADING", b"-BUSY", b"-MASTERDOWN")):
        raise NotReady(f"redis on {talk.address} is not ready: {line[1:120].decode('ascii', 'replace')}")
    if line != b"+PONG":
        raise talk.wrong(line)
    talk.ask(b"*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n")
    head = talk.line()  # $LENGTH, or an error where INFO is not allowed
    if not re.fullmatch(rb"\$\d{1,5}", head):
        return "unknown"
    length = int(head[1:])
    while len(talk.reply) < length and talk.more():
        pass
    text = talk.reply.decode("utf-8", "replace")
    found = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    if "valkey_version" in found:
        return f"valkey {found['valkey_version']}"
    return found.get("redis_version", "unknown")


def _http(talk: _Talk, path: str) -> str:
    host, port = split_address(talk.address)
    head = [
        f"GET {path} HTTP/1.1",
        f"Host: {join_address(host, port)}",
        "User-Agent: hindmost",
        "Connection: close",
    ]
    talk.ask("".join(f"{line}\r\n" for line in [*head, ""]).encode("ascii"))
    line = talk.line()
    status = re.match(rb"(HTTP/\d(?:\.\d)?) (\d{3})\b", line)
    if status is None:
        raise talk.wrong(line)
    while b"\r\n\r\n" not in b"\r\n" + talk.reply and talk.more():
        pass
    code = int(status[2])
    text = line[:80].decode("ascii", "backslashreplace")
    if code >= 500:
        raise NotReady(
            f"http://{talk.address}{path} answered {text!r}: it does not serve", hint="see its log"
        )
    if code >= 400:
        raise TargetError(
            f"http://{talk.address}{path} answered {text!r}: every request would be an error",
            hint=f"name a page that exists: http://{talk.address}/PATH",
        )
    server = re.search(rb"(?im)^server:[ \t]*([^\r\n]+)", talk.reply.partition(b"\r\n\r\n")[0])
    return (server[1].strip() if server else status[1]).decode("ascii", "replace")
