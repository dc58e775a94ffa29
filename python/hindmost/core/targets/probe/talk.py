"""One connection to a server, and the errors that explain its failures."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import time

from hindmost import _engine
from hindmost.core.plan.first import FirstRequest
from hindmost.core.plan.login import Login
from hindmost.core.plan.protocols import Entry
from hindmost.core.targets.probe import securing
from hindmost.core.targets.probe.complaints import hint_about
from hindmost.core.targets.probe.problems import HungUp, NotListening, Silent, WrongProtocol
from hindmost.core.targets.probe.strangers import match, recognise
from hindmost.core.targets.procfs import split_address
from hindmost.errors import TargetError, UsageError

MAX_REPLY = 1 << 16
_BINARY: dict[str, tuple[int, slice, bytes]] = {
    "memcached_binary": (24, slice(8, 12), b"\x81"),
    "http2": (9, slice(0, 3), b"\0"),
}
"""Length of a binary reply's header, position of the length that follows, and first bytes."""
_RESEND_S = 0.5
"""After this time without a reply, in s, a datagram may be lost."""
_REFUSALS = {"login-refused", "request-refused", "wrong-protocol", "refused"}
"""The engine's codes for servers that end an opening; any other code is about the plan."""


class Talk:
    """One connection, and the errors that explain its failures."""

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

    def begin(self, entry: Entry, login: Login | None, path: str, first: FirstRequest | None) -> None:
        """Make the engine's opening of a connection; store the server's part in `opening`.

        Raises
        ------
        TargetError
            If the server refuses us, and the table of protocols has no better message.
        """
        plan = json.dumps(
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
            opening = _engine.Opening(first.opening if first is not None and first.opening else plan)
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
                    code, str(words), hint=f"see which login {entry.name} needs", address=self.address
                ) from None
            self.opening = str(words).encode()
            if any(
                match(answer.pattern, self.opening)
                for ask in entry.greeting
                for answer in ask.answers
                if not ask.send
            ):
                return
            # Older engines have only the code `refused`.
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
        """Send; the reply shows whether it was received."""
        self.asked = request
        with contextlib.suppress(
            ConnectionError, ssl.SSLError
        ):  # a server that hangs up may have sent a reason
            self.connection.settimeout(max(0.001, self.deadline - time.monotonic()))
            self.connection.sendall(request)

    def more(self) -> bool:
        """Read more of the reply; return False if the server hung up."""
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
            raise securing.session_ended(self.address, error) from None
        except ConnectionError:
            return False
        self.reply += chunk
        return bool(chunk) and len(self.reply) < MAX_REPLY

    def line(self) -> bytes:
        """Take the first line off the reply and return it; for a binary reply, all of it."""
        if self.framing in _BINARY:
            return self.binary(*_BINARY[self.framing])
        if self.framing == "datagram":
            return self.datagram()
        while b"\r\n" not in self.reply and self.more():
            pass
        line, found, after = self.reply.partition(b"\r\n")
        if not found:
            raise self.wrong()
        self.reply = after
        if self.framing == "headers" and re.match(rb"HTTP/\S+ 1(?!01)\d\d\b", line):
            # An interim reply (RFC 9110, 15.2): the final one follows it.
            self.remainder(line)
            self.reply = (b"\r\n" + self.reply).partition(b"\r\n\r\n")[2]
            return self.line()
        return line

    def binary(self, header: int, stated: slice, sign: bytes) -> bytes:
        """Take off one binary reply: a header, which states how many bytes follow it."""
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
        """Receive the next datagram; send the question again if none arrives, since one may be lost."""
        while (left := self.deadline - time.monotonic()) > 0:
            self.connection.settimeout(min(left, _RESEND_S))
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
            hint="check that it runs, listens on UDP, and permits this host",
            address=self.address,
            protocol=self.protocol,
            limit=self.timeout_s,
            unit="s",
        )

    def remainder(self, line: bytes) -> bytes:
        """Return the rest of the reply after its first line, by the protocol's framing; no HTTP body."""
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
        """Return the error that says what answered instead."""
        received = line + (b"\r\n" + self.reply if line else self.reply)
        if not received:
            return HungUp(
                "hung-up",
                f"{self.address} closed the connection without an answer; a {self.protocol} server would"
                " have answered",
                hint=f"is this the {self.protocol} port, and may this host connect to it?",
                address=self.address,
                protocol=self.protocol,
            )
        name, scheme = recognise(received)
        first = received.splitlines()[0][:80].decode("ascii", "backslashreplace")
        # A gRPC server greets like any other HTTP/2 server.
        grpc = f", or grpc://{self.address}/package.Service/Method" if scheme == "http2" else ""
        return WrongProtocol(
            "wrong-protocol",
            f"{self.address} does not speak {self.protocol}: it answered {first!r}"
            + (f", which looks like {name}" if name else ""),
            hint=f"write {scheme}://{self.address}{grpc}"
            if scheme
            else f"which port does the {self.protocol} server listen on?",
            address=self.address,
            protocol=self.protocol,
            reply=first,
            found=scheme or name,
        )
