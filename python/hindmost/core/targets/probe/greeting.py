"""Greets a server and checks its identity."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Sequence
from typing import Any

from hindmost.core.plan.codes import Codes, is_accepted
from hindmost.core.plan.first import FirstRequest
from hindmost.core.plan.login import Login
from hindmost.core.plan.protocols import ENTRIES, Answer, Ask, Protocol
from hindmost.core.plan.tls import Tls
from hindmost.core.targets.probe import securing
from hindmost.core.targets.probe.problems import HungUp, NotReady, Silent, WrongProtocol
from hindmost.core.targets.probe.reach import accepts, reach
from hindmost.core.targets.probe.strangers import match
from hindmost.core.targets.probe.talk import Talk
from hindmost.core.targets.resolve import Attached
from hindmost.errors import TargetError


def identify(
    address: str,
    protocol: Protocol,
    timeout_s: float = 2.0,
    *,
    path: str = "/",
    accept: Codes = (),
    tls: Tls | None = None,
    first: FirstRequest | None = None,
    login: Login | None = None,
) -> str:
    """Make sure that a server speaks `protocol`; return its version.

    Parameters
    ----------
    address : str
        ``IP:PORT``; IPv6 in brackets; or ``unix:/PATH``.
    protocol : str
        The expected protocol: the name of an entry of `hindmost.core.plan.protocols`.
    timeout_s : float
        Seconds for the connection and the reply together; the reply to `first` may take longer.
    path : str
        Path to fetch (http).
    accept : sequence of int and str
        Status codes that count as success.
    tls : Tls, optional
        TLS settings of the connection; default: no TLS.
    first : FirstRequest, optional
        The request to send instead of a greeting. A request that must not be repeated is sent once to each
        server.
    login : Login, optional
        Credentials, if the server requires them.

    Returns
    -------
    str
        Such as ``1.6.18`` (memcached), ``7.0.15`` (redis), ``nginx/1.22.1`` (http: its Server header, or
        ``HTTP/1.1``).

    Raises
    ------
    TargetError
        Unreachable, refused (`NotListening`), silent, not ready (`NotReady`), or `WrongProtocol`, which names
        what answered.
    """
    if first is not None and first.request:
        return _send_first(address, protocol, timeout_s, tls, first)
    try:
        return _identify(address, protocol, timeout_s, path, accept, tls, login, first)
    except HungUp:
        # memcached hangs up on HTTP: greet the server in the other protocols.
        for other, entry in ENTRIES.items():
            if other == protocol or entry.framing == "datagram" or not entry.greeting:
                continue
            try:
                version = _identify(address, other, timeout_s, "/", (), tls)
            except (Silent, WrongProtocol):
                continue
            except TargetError:  # it speaks this protocol and refuses us
                version = "server"
            if version:
                raise WrongProtocol(
                    "wrong-protocol",
                    f"{address} does not speak {protocol}: it is {other} {version}",
                    hint=f"write {other}://{address}",
                    address=address,
                    protocol=protocol,
                    found=other,
                ) from None
        raise


_once: dict[tuple[str, bytes], str] = {}
"""Versions of servers that got a request which must not be repeated."""


def _send_first(
    address: str, protocol: Protocol, timeout_s: float, tls: Tls | None, first: FirstRequest
) -> str:
    key = (address, first.request)
    if key in _once:
        accepts(address, timeout_s)
        return _once[key]
    version = _identify(address, protocol, timeout_s, first.path, first.accept, tls, first=first)
    if not first.is_repeatable:
        _once[key] = version
    return version


def _identify(
    address: str,
    protocol: Protocol,
    timeout_s: float,
    path: str,
    accept: Codes,
    tls: Tls | None,
    login: Login | None = None,
    first: FirstRequest | None = None,
) -> str:
    reply_s = max(timeout_s, first.timeout_s if first else 0.0)
    deadline = time.monotonic() + reply_s
    entry = ENTRIES[protocol]
    version = "unknown"
    if tls is not None:
        accepts(address, timeout_s)
        securing.verify(address, tls, entry, timeout_s)
    with (
        reach(address, entry, timeout_s) as plain,
        contextlib.nullcontext(plain)
        if tls is None
        else securing.wrap(plain, address, tls, entry) as connection,
    ):
        scheme = entry.name if tls is None else entry.tls_scheme
        talk = Talk(connection, address, entry, reply_s, deadline, scheme)
        if login is not None or entry.framing == "opening":
            talk.begin(entry, login, path, first)
        try:
            for ask in entry.greeting:
                version = _answer(talk, ask, path, accept, first) or version
        except TargetError as refusal:
            raise securing.explain_refusal(refusal, tls) from None
    return version


def _answer(talk: Talk, ask: Ask, path: str, accept: Codes, first: FirstRequest | None = None) -> str | None:
    """Send one question; return the version, if the reply has it.

    Raises
    ------
    TargetError
        According to the reply, or `WrongProtocol` if the reply is unknown.
    """
    unix = talk.address.startswith("unix:")
    own = first if first is not None and first.request else None
    filled = {"address": "localhost" if unix else talk.address, "path": path}
    question = ask.send.format(**filled).encode("latin-1") if own is None else own.request
    if question:
        talk.ask(question)
    line = talk.line() if question else talk.opening
    found = next(((known, hit) for known in ask.answers if (hit := match(known.pattern, line))), None)
    if found is None:
        raise talk.wrong(line)
    answer, matched = found
    if answer.means != "serves" and not is_accepted(line, accept):
        reply = matched[1].decode("ascii", "backslashreplace")
        if own is not None:
            raise _first_refused(answer, own, talk, reply)
        values = {"address": talk.address, "path": path, "reply": reply, "scheme": talk.scheme}
        if answer.shows and "{location}" in answer.hint:
            values["location"] = _location(talk.remainder(line))
        raise _problem(answer, values)
    whole = line + b"\r\n" + (talk.remainder(line) if ask.versions and ask.send else b"")
    for version in ask.versions:
        if version_match := re.search(version.pattern.encode(), whole, re.IGNORECASE):
            return version.written.format(version_match[1].strip().decode("utf-8", "replace"))
    return None


def _location(headers: bytes) -> str:
    """Return the target of a redirection, in words."""
    match = re.search(rb"(?im)^location:[ \t]*([\x21-\x7e]{1,200})", headers)
    return match[1].decode("ascii") if match else "the page that it redirects to"


def _first_refused(answer: Answer, first: FirstRequest, talk: Talk, reply: str) -> TargetError:
    outcome = "a miss" if answer.shows == "missing" else "an error"
    problem = TargetError(
        "request-refused",
        f"{first.method} {talk.scheme}://{talk.address}{first.path} answered '{reply}': every request"
        f" would be {outcome}",
        hint="correct --method, --body, --header or the workload file; --accept defines success",
        address=talk.address,
        path=first.path,
        reply=reply,
        shows=answer.shows,
    )
    problem.shows = answer.shows
    return problem


def _problem(answer: Answer, filled: dict[str, Any]) -> TargetError:
    kind: type[TargetError] = NotReady if answer.means == "not_ready" else TargetError
    refusal_code = "request-refused" if answer.shows else "login-refused"
    code = "server-not-ready" if answer.means == "not_ready" else refusal_code
    problem = kind(
        code,
        answer.message.format(**filled),
        hint=answer.hint.format(**filled) or None,
        shows=answer.shows,
        **filled,
    )
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
    first: FirstRequest | None = None,
    login: Login | None = None,
) -> tuple[str, str]:
    """Return the first of a host's addresses that `identify` accepts, and its version.

    Raises
    ------
    TargetError
        The problem of the first address, if none is accepted.
    """
    problem: TargetError | None = None
    for address in addresses:
        try:
            version = identify(
                address, protocol, timeout_s, path=path, accept=accept, tls=tls, first=first, login=login
            )
            return address, version
        except TargetError as error:
            problem = problem or error
    raise problem or TargetError("unreachable", "no address to try")


def greet(
    target: Attached,
    timeout_s: float = 2.0,
    *,
    accept: Codes = (),
    tls: Tls | None = None,
    first: FirstRequest | None = None,
    login: Login | None = None,
) -> tuple[str, str]:
    """Check that a running server, or all of several, answers; return address and version of the first.

    Only the first gets the request `first`, which may have side effects.

    Raises
    ------
    TargetError
        The problem of the first server that has one.
    """
    path, more = target.path, target.endpoints[1:]
    found = first_answering(
        target.addresses,
        target.protocol,
        timeout_s,
        path=path,
        accept=accept,
        tls=tls and tls.for_host(target.host),  # its addresses do not include its name
        first=first,
        login=login,
    )
    for endpoint in more:
        identify(endpoint, target.protocol, timeout_s, path=path, accept=accept, tls=tls, login=login)
    return found
