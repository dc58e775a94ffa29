"""Ask a server who it is."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Sequence
from typing import Any

from hindmost.errors import TargetError
from hindmost.plan.codes import Codes, is_accepted
from hindmost.plan.first import First
from hindmost.plan.login import Login
from hindmost.plan.protocols import ENTRIES, Answer, Ask, Protocol
from hindmost.plan.tls import Tls
from hindmost.targets.probe import securing
from hindmost.targets.probe.problems import HungUp, NotReady, Silent, WrongProtocol
from hindmost.targets.probe.reach import accepts, reach
from hindmost.targets.probe.strangers import match
from hindmost.targets.probe.talk import Talk
from hindmost.targets.resolve import Attached


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
    except HungUp:
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
                    "wrong-protocol",
                    f"{address} does not speak {protocol}: it is {other} {version}",
                    hint=f"write {other}://{address}",
                    address=address,
                    protocol=protocol,
                    found=other,
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
    if not first.is_repeatable:
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
        reach(address, entry, timeout_s) as plain,
        contextlib.nullcontext(plain)
        if tls is None
        else securing.secured(plain, address, tls, entry) as connection,
    ):
        scheme = entry.name if tls is None else entry.tls_scheme
        talk = Talk(connection, address, entry, timeout_s, deadline, scheme)
        if login is not None or entry.framing == "opening":
            talk.begin(entry, login, path, first)
        try:
            for ask in entry.greeting:
                version = _answer(talk, ask, path, accept, first) or version
        except TargetError as refusal:
            raise securing.explained(refusal, tls) from None
    return version


def _answer(talk: Talk, ask: Ask, path: str, accept: Codes, first: First | None = None) -> str | None:
    """Ask one question; the version, where the reply tells it.

    Raises
    ------
    TargetError
        By what the answer means, or `WrongProtocol` where it is none of those that are known.
    """
    unix = talk.address.startswith("unix:")
    own = first if first is not None and first.request else None
    filled = {"address": "localhost" if unix else talk.address, "path": path}
    question = ask.send.format(**filled).encode("latin-1") if own is None else own.request
    if question:
        talk.ask(question)
    line = talk.line() if question else talk.opening
    found = next(((one, found) for one in ask.answers if (found := match(one.pattern, line))), None)
    if found is None:
        raise talk.wrong(line)
    answer, matched = found
    if answer.means != "serves" and not is_accepted(line, accept):
        reply = matched[1].decode("ascii", "backslashreplace")
        if own is not None:
            raise _refused_first(answer, own, talk, reply)
        values = {"address": talk.address, "path": path, "reply": reply, "scheme": talk.scheme}
        if answer.shows and "{location}" in answer.hint:
            values["location"] = _location(talk.rest(line))
        raise _problem(answer, values)
    whole = line + b"\r\n" + (talk.rest(line) if ask.versions and ask.send else b"")
    for version in ask.versions:
        if told := re.search(version.pattern.encode(), whole, re.IGNORECASE):
            return version.written.format(told[1].strip().decode("utf-8", "replace"))
    return None


def _location(headers: bytes) -> str:
    """Where a redirection leads, in words."""
    found = re.search(rb"(?im)^location:[ \t]*([\x21-\x7e]{1,200})", headers)
    return found[1].decode("ascii") if found else "the page that it redirects to"


def _refused_first(answer: Answer, first: First, talk: Talk, reply: str) -> TargetError:
    comes_to = "a miss" if answer.shows == "missing" else "an error"
    problem = TargetError(
        "request-refused",
        f"{first.method} {talk.scheme}://{talk.address}{first.path} answered '{reply}': every request"
        f" would be {comes_to}",
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
    refused = "request-refused" if answer.shows else "login-refused"
    code = "server-not-ready" if answer.means == "not_ready" else refused
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
    raise problem or TargetError("unreachable", "no address to try")


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
        tls=tls and tls.for_host(target.host),  # its addresses do not tell how it is called
        first=first,
        login=login,
    )
    for endpoint in more:
        identify(endpoint, target.protocol, timeout_s, path=path, accept=accept, tls=tls, login=login)
    return found
