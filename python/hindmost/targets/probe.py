"""Ask a server who it is: the ready probe of managed targets, the identity check of attached ones."""

from __future__ import annotations

import contextlib
import errno
import json
import re
import socket
import ssl
import time
from collections.abc import Sequence

from hindmost import _engine
from hindmost.errors import TargetError, UsageError
from hindmost.plan.codes import Codes, accepted
from hindmost.plan.first import First
from hindmost.plan.login import Login
from hindmost.plan.protocols import ENTRIES, Answer, Ask, Entry, Protocol
from hindmost.plan.tls import Tls
from hindmost.targets import securing
from hindmost.targets.procfs import split_address
from hindmost.targets.resolve import Attached

MAX_REPLY = 1 << 16
_BINARY: dict[str, tuple[int, slice, bytes]] = {
    "memcached_binary": (24, slice(8, 12), b"\x81"),
    "http2": (9, slice(0, 3), b"\0"),
}
"""Bytes of the header of a binary reply, where in it stands how many follow, and what it starts with."""
_AGAIN_S = 0.5
"""A datagram without an answer for so long may be lost."""


class Silent(TargetError):
    """No connection, or no answer: what every request would come to."""

    shows = "silent"


class NotListening(Silent):
    """Nothing accepts connections at the address (refused)."""


class NotReady(TargetError):
    """The server speaks the right protocol but does not serve yet."""


class WrongProtocol(TargetError):
    """Something else answers at the address."""


class _HungUp(WrongProtocol):
    """It closed the connection without a word."""


def identify(
    address: str,
    protocol: Protocol,
    timeout_s: float = 2.0,
    *,
    path: str = "/",
    accept: Codes = (),
    tls: Tls | None = None,
    first: First | None = None,
    login: Login | None = None,
) -> str:
    """Make sure that a server speaks `protocol`; return its version.

    Parameters
    ----------
    address : str
        ``IP:PORT``; IPv6 in brackets; or ``unix:/PATH``.
    protocol : str
        What it should speak: the name of an entry of `hindmost.plan.protocols`.
    timeout_s : float
        Seconds for the connection and the answer together.
    path : str
        What to fetch (http).
    accept : sequence of int and str
        Status codes that the workload takes for a success.
    tls : Tls, optional
        How the connection is secured; default: not at all.
    first : First, optional
        What to ask in place of a greeting. What must not be made twice is asked once of each server.
    login : Login, optional
        Who we are, where the server asks.

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
    if first is not None and first.request:
        return _asked_first(address, protocol, timeout_s, tls, first)
    try:
        return _identify(address, protocol, timeout_s, path, accept, tls, login, first)
    except _HungUp:
        # memcached does so to what looks like HTTP: ask it in the other protocols what it is.
        for other, entry in ENTRIES.items():
            if other == protocol or entry.framing == "datagram" or not entry.greeting:
                continue
            try:
                version = _identify(address, other, timeout_s, "/", (), tls)
            except (Silent, WrongProtocol):
                continue
            except TargetError:  # it refuses us in words of this protocol
                version = "server"
            if version:
                raise WrongProtocol(
                    f"{address} does not speak {protocol}: it is {other} {version}",
                    hint=f"write {other}://{address}",
                ) from None
        raise


_once: dict[tuple[str, bytes], str] = {}
"""Versions of servers that were asked what must not be asked twice."""


def _asked_first(address: str, protocol: Protocol, timeout_s: float, tls: Tls | None, first: First) -> str:
    of = (address, first.request)
    if of in _once:
        accepts(address, timeout_s)
        return _once[of]
    version = _identify(address, protocol, timeout_s, first.path, first.accept, tls, first=first)
    if not first.repeatable:
        _once[of] = version
    return version


def _identify(
    address: str,
    protocol: Protocol,
    timeout_s: float,
    path: str,
    accept: Codes,
    tls: Tls | None,
    login: Login | None = None,
    first: First | None = None,
) -> str:
    deadline = time.monotonic() + timeout_s
    entry = ENTRIES[protocol]
    version = "unknown"
    if tls is not None:
        accepts(address, timeout_s)
        securing.verify(address, tls, entry, timeout_s)
    with (
        _socket(address, entry, timeout_s) as plain,
        contextlib.nullcontext(plain)
        if tls is None
        else securing.secured(plain, address, tls, entry) as connection,
    ):
        talk = _Talk(connection, address, entry, timeout_s, deadline)
        if login is not None or entry.framing == "opening":
            talk.begin(entry, login, path, first)
        for ask in entry.greeting:
            version = _answer(talk, ask, path, accept, first) or version
    return version


def _answer(talk: _Talk, ask: Ask, path: str, accept: Codes, first: First | None = None) -> str | None:
    """Ask one question; the version, where the reply tells it.

    Raises
    ------
    TargetError
        By what the answer means, or `WrongProtocol` where it is none of those that are known.
    """
    unix = talk.address.startswith("unix:")
    filled = {"address": "localhost" if unix else talk.address, "path": path}
    own = first if first is not None and first.request else None
    question = ask.send.format(**filled).encode("latin-1") if own is None else own.request
    if question:
        talk.ask(question)
    line = talk.line() if question else talk.opening
    found = next(((one, match) for one in ask.answers if (match := _match(one.pattern, line))), None)
    if found is None:
        raise talk.wrong(line)
    answer, match = found
    if answer.means != "serves" and not accepted(line, accept):
        reply = match[1].decode("ascii", "backslashreplace")
        if own is not None:
            raise _refused_first(answer, own, talk.address, reply)
        raise _problem(answer, {"address": talk.address, "path": path, "reply": reply})
    whole = line + b"\r\n" + (talk.rest(line) if ask.versions and ask.send else b"")
    for version in ask.versions:
        if told := re.search(version.pattern.encode(), whole, re.IGNORECASE):
            return version.written.format(told[1].strip().decode("utf-8", "replace"))
    return None


def _match(pattern: str, reply: bytes) -> re.Match[bytes] | None:
    return re.match(pattern.encode(), reply, re.IGNORECASE | re.DOTALL)


def _refused_first(answer: Answer, first: First, address: str, reply: str) -> TargetError:
    comes_to = "a miss" if answer.shows == "missing" else "an error"
    problem = TargetError(
        f"{first.method} http://{address}{first.path} answered '{reply}': each would be {comes_to}",
        hint="mend --method, --body, --header or the workload file; --accept says what is a success",
    )
    problem.shows = answer.shows
    return problem


def _problem(answer: Answer, filled: dict[str, str]) -> TargetError:
    kind = NotReady if answer.means == "not_ready" else TargetError
    problem = kind(answer.message.format(**filled), hint=answer.hint.format(**filled) or None)
    problem.shows = answer.shows
    return problem


def first_answering(
    addresses: Sequence[str],
    protocol: Protocol,
    timeout_s: float = 2.0,
    *,
    path: str = "/",
    accept: Codes = (),
    tls: Tls | None = None,
    first: First | None = None,
    login: Login | None = None,
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
            asked = identify(
                address, protocol, timeout_s, path=path, accept=accept, tls=tls, first=first, login=login
            )
            return address, asked
        except TargetError as error:
            problem = problem or error
    raise problem or TargetError("no address to try")


def greet(
    target: Attached,
    timeout_s: float = 2.0,
    *,
    accept: Codes = (),
    tls: Tls | None = None,
    first: First | None = None,
    login: Login | None = None,
) -> tuple[str, str]:
    """Make sure that a running server is there, or all of several; return address and version of the first.

    Only that one is asked `first`, which may change what it is asked about.

    Raises
    ------
    TargetError
        The problem of the first of them that has one.
    """
    path, more = target.path, target.endpoints[1:]
    found = first_answering(
        target.addresses,
        target.protocol,
        timeout_s,
        path=path,
        accept=accept,
        tls=tls,
        first=first,
        login=login,
    )
    for endpoint in more:
        identify(endpoint, target.protocol, timeout_s, path=path, accept=accept, tls=tls, login=login)
    return found


def accepts(address: str, timeout_s: float = 2.0) -> None:
    """Make sure that a connection is accepted; raises like `identify`."""
    _connect(address, timeout_s).close()


def _socket(address: str, entry: Entry, timeout_s: float) -> socket.socket:
    if entry.framing != "datagram":
        return _connect(address, timeout_s)
    host, port = split_address(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_DGRAM)
    try:
        connection.connect((host, port))
    except OSError as error:
        connection.close()
        raise Silent(
            f"cannot reach {address}: {error.strerror or error}", hint=f"ip route get {host}"
        ) from None
    return connection


def _connect(address: str, timeout_s: float) -> socket.socket:
    if address.startswith("unix:"):
        return _connect_unix(address.removeprefix("unix:"), timeout_s)
    host, port = split_address(address)
    try:
        connection = socket.create_connection((host, port), timeout=timeout_s)
    except ConnectionRefusedError:
        raise _refused(address) from None
    except TimeoutError:
        raise Silent(
            f"{address} did not answer a connection attempt within {timeout_s:g} s",
            hint=f"is the host up, and does a firewall drop port {port}? try: ping {host}",
        ) from None
    except OSError as error:
        no_route = error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH)
        hint = f"ip route get {host}" if no_route else f"ping {host}"
        raise Silent(f"cannot reach {address}: {error.strerror or error}", hint=hint) from None
    # Polling a free ephemeral port may connect to itself (simultaneous open): nobody listens there.
    if connection.getsockname() == connection.getpeername():
        connection.close()
        raise _refused(address)
    return connection


def _connect_unix(path: str, timeout_s: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    try:
        connection.connect(path)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        connection.close()
        raise NotListening(
            f"nothing listens on the Unix socket {path}: {error.strerror}",
            hint=f"start the server, or check the path: ls -l {path}",
        ) from None
    except OSError as error:
        connection.close()
        raise Silent(
            f"cannot reach the Unix socket {path}: {error.strerror or error}", hint=f"ls -l {path}"
        ) from None
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
        self, connection: socket.socket, address: str, entry: Entry, timeout_s: float, deadline: float
    ) -> None:
        self.connection, self.address = connection, address
        self.protocol, self.framing = entry.name, entry.framing
        self.timeout_s, self.deadline = timeout_s, deadline
        self.reply, self.opening, self.asked = b"", b"", b""

    def begin(self, entry: Entry, login: Login | None, path: str, first: First | None) -> None:
        """Say what the engine says first on a connection; what the server makes of it is `opening`.

        Raises
        ------
        TargetError
            If it refuses us, where the table of protocols has no better words for it.
        """
        said = json.dumps(
            {
                "schema": "hindmost.plan/1",
                "seed": 1,
                "target": {"protocol": entry.name, "address": self.address}
                | ({"login": login.engine(secrets=True)} if login else {}),
                "load": {"loop": "closed"},
                "workload": entry.mix.workload(path),
            }
        )
        try:
            opening = _engine.Opening(first.opening if first is not None and first.opening else said)
            done, out = opening.begin()
            while True:
                if out:
                    self.ask(out)
                if done:
                    break
                before = len(self.reply)
                if not self.more():
                    raise self.wrong()
                done, out = opening.hear(self.reply[before:])
        except _engine.EngineError as error:
            code, words = error.args
            if code != "refused":
                raise UsageError(str(words), hint=f"which login does {entry.name} take?") from None
            self.opening = str(words).encode()
            if any(
                _match(one.pattern, self.opening)
                for ask in entry.greeting
                for one in ask.answers
                if not ask.send
            ):
                return
            if "does not speak" in str(words):
                raise self.wrong() from None
            raise TargetError(
                f"{entry.called} on {self.address} does not let us in: {words}",
                hint="--user NAME, --password env:VARIABLE and --database NAME say who logs in where",
            ) from None
        self.opening, self.reply = self.reply, b""

    def ask(self, request: bytes) -> None:
        self.asked = request
        with contextlib.suppress(
            ConnectionError, ssl.SSLError
        ):  # a server that hangs up may have said why: read it
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
            raise Silent(
                f"{self.address} accepted the connection but said nothing within {self.timeout_s:g} s; "
                f"a {self.protocol} server would have answered",
                hint="is the server overloaded or stopped, or does it wait for TLS?",
            ) from None
        except ssl.SSLError as error:
            raise securing.ended(self.address, error) from None
        except ConnectionError:
            return False
        self.reply += chunk
        return bool(chunk) and len(self.reply) < MAX_REPLY

    def line(self) -> bytes:
        """The first line of the reply, which is taken off it; all of a binary one."""
        if self.framing in _BINARY:
            return self.binary(*_BINARY[self.framing])
        if self.framing == "datagram":
            return self.datagram()
        while b"\r\n" not in self.reply and self.more():
            pass
        line, found, rest = self.reply.partition(b"\r\n")
        if not found:
            raise self.wrong()
        self.reply = rest
        return line

    def binary(self, header: int, stated: slice, sign: bytes) -> bytes:
        """One reply that is no text: a header, which states how many bytes follow it."""
        length = header
        while len(self.reply) < length and self.more():
            if not self.reply.startswith(sign):
                raise self.wrong()
            if len(self.reply) >= header:
                length = header + int.from_bytes(self.reply[stated])
        if len(self.reply) < length:
            raise self.wrong()
        reply, self.reply = self.reply[:length], self.reply[length:]
        return reply

    def datagram(self) -> bytes:
        """The next datagram; the question is asked again where none comes, since one may have been lost."""
        while (left := self.deadline - time.monotonic()) > 0:
            self.connection.settimeout(min(left, _AGAIN_S))
            try:
                return self.connection.recv(MAX_REPLY)
            except TimeoutError:
                self.ask(self.asked)
            except ConnectionError:
                _, port = split_address(self.address)
                raise NotListening(
                    f"nothing listens on {self.address} (UDP)",
                    hint=f"start the server, or check the port: ss -lun 'sport = :{port}'",
                ) from None
        raise Silent(
            f"{self.address} did not answer over UDP within {self.timeout_s:g} s; "
            f"a {self.protocol} server would have",
            hint="is it there, does it listen on UDP, and may this host ask it?",
        )

    def rest(self, line: bytes) -> bytes:
        """What belongs to the reply behind its first line, by the protocol's framing; no body of HTTP."""
        match self.framing:
            case "lines" | "memcached_binary" | "http2" | "opening" | "datagram":
                return b""
            case "length_prefixed":
                length = int(line[1:]) if re.fullmatch(rb"\$\d{1,5}", line) else 0
                while len(self.reply) < length and self.more():
                    pass
                return self.reply[:length]
            case "headers":
                while b"\r\n\r\n" not in b"\r\n" + self.reply and self.more():
                    pass
                return self.reply.partition(b"\r\n\r\n")[0]

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
        # A server of gRPC greets like any other of HTTP/2.
        grpc = f", or grpc://{self.address}/package.Service/Method" if scheme == "http2" else ""
        return WrongProtocol(
            f"{self.address} does not speak {self.protocol}: it answered {first!r}"
            + (f", which looks like {what}" if what else ""),
            hint=f"write {scheme}://{self.address}{grpc}"
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
    for entry in ENTRIES.values():
        if any(_match(sign, reply) for sign in entry.signs):
            return entry.called, entry.name
    for what, sign in _STRANGERS.items():
        if _match(sign, reply):
            return what, None
    return None, None


_STRANGERS = {
    "an SSH server": r"SSH-\d",
    "a TLS server": r"\x15\x03",
    "MySQL": r"[\x00-\xff]{3}\x00\x0a\d+\.",
    "a mail or FTP server": "220[ -]",
    "an HTTP/2 server": r"\x00\x00.\x04\x00",
}
"""What else may answer, by what its first bytes look like."""
