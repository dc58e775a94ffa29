"""One connection to a server, and what has to be said about it when it goes wrong."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import time

from hindmost import _engine
from hindmost.errors import TargetError, UsageError
from hindmost.plan.first import First
from hindmost.plan.login import Login
from hindmost.plan.protocols import Entry
from hindmost.targets.probe import securing
from hindmost.targets.probe.complaints import hint_about
from hindmost.targets.probe.problems import HungUp, NotListening, Silent, WrongProtocol
from hindmost.targets.probe.strangers import match, recognise
from hindmost.targets.procfs import split_address

MAX_REPLY = 1 << 16
_BINARY: dict[str, tuple[int, slice, bytes]] = {
    "memcached_binary": (24, slice(8, 12), b"\x81"),
    "http2": (9, slice(0, 3), b"\0"),
}
"""Bytes of the header of a binary reply, where in it stands how many follow, and what it starts with."""
_AGAIN_S = 0.5
"""A datagram without an answer for so long may be lost."""
_REFUSALS = {"login-refused", "request-refused", "wrong-protocol", "refused"}
"""Codes of the engine for servers that end an opening; any other is about the plan."""


class Talk:
    """One connection and what has to be said about it when it goes wrong."""

    def __init__(
        self,
        connection: socket.socket,
        address: str,
        entry: Entry,
        timeout_s: float,
        deadline: float,
        scheme: str,
    ) -> None:
        self.connection, self.address, self.scheme = connection, address, scheme
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
            if code not in _REFUSALS:
                raise UsageError(
                    code, str(words), hint=f"which login does {entry.name} take?", address=self.address
                ) from None
            self.opening = str(words).encode()
            if any(
                match(one.pattern, self.opening)
                for ask in entry.greeting
                for one in ask.answers
                if not ask.send
            ):
                return
            # An engine that says only `refused` is an older one.
            if code == "wrong-protocol" or (code == "refused" and "does not speak" in str(words)):
                raise self.wrong() from None
            raise TargetError(
                "login-refused",
                f"{entry.called} on {self.address} refuses the login: {words}",
                hint=hint_about(str(words))
                or "name the login: --user NAME, --password env:VARIABLE, --database NAME",
                address=self.address,
                protocol=entry.name,
                reply=str(words),
            ) from None
        self.opening, self.reply = self.reply, b""

    def ask(self, request: bytes) -> None:
        """Send; whether it was received is for the reply to tell."""
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
                "no-answer",
                f"{self.address} accepted the connection but sent nothing within {self.timeout_s:g} s; a"
                f" {self.protocol} server would have answered",
                hint="is the server overloaded or stopped, or does it expect TLS?",
                address=self.address,
                protocol=self.protocol,
                limit=self.timeout_s,
                unit="s",
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
        if self.framing == "headers" and re.match(rb"HTTP/\S+ 1(?!01)\d\d\b", line):
            # An interim reply (RFC 9110, 15.2): the one that counts follows it.
            self.rest(line)
            self.reply = (b"\r\n" + self.reply).partition(b"\r\n\r\n")[2]
            return self.line()
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
                    "not-listening",
                    f"nothing listens on {self.address} (UDP)",
                    hint=f"start the server, or check the port: ss -lun 'sport = :{port}'",
                    address=self.address,
                    protocol=self.protocol,
                ) from None
        raise Silent(
            "no-answer",
            f"{self.address} did not answer over UDP within {self.timeout_s:g} s; a {self.protocol} server"
            " would have",
            hint="does it run, does it listen on UDP, and may this host ask it?",
            address=self.address,
            protocol=self.protocol,
            limit=self.timeout_s,
            unit="s",
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
            return HungUp(
                "hung-up",
                f"{self.address} closed the connection without an answer; a {self.protocol} server would"
                " have answered",
                hint=f"is this the {self.protocol} port, and may this host connect to it?",
                address=self.address,
                protocol=self.protocol,
            )
        what, scheme = recognise(heard)
        first = heard.splitlines()[0][:80].decode("ascii", "backslashreplace")
        # A server of gRPC greets like any other of HTTP/2.
        grpc = f", or grpc://{self.address}/package.Service/Method" if scheme == "http2" else ""
        return WrongProtocol(
            "wrong-protocol",
            f"{self.address} does not speak {self.protocol}: it answered {first!r}"
            + (f", which looks like {what}" if what else ""),
            hint=f"write {scheme}://{self.address}{grpc}"
            if scheme
            else f"which port does the {self.protocol} server listen on?",
            address=self.address,
            protocol=self.protocol,
            reply=first,
            found=scheme or what,
        )
