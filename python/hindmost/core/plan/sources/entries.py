"""Entries of another tool's file: those that can be sent, and why each other one is left out."""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from hindmost import _engine
from hindmost.core.notes import Note
from hindmost.core.plan.http import escape_braces, request_name
from hindmost.core.plan.sources.place import Place
from hindmost.errors import UsageError

Request = dict[str, Any]
METHODS = ("GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE")
OWN_HEADERS = ("content-length", "connection", "transfer-encoding")
"""Headers that the engine writes itself."""
_MOST_KINDS = 64
"""Most request names that the engine counts separately."""
_LONGEST_NAME = 120
"""Most bytes of a request's name."""
_ENCODER = msgspec.json.Encoder(order="sorted")
_PLAIN = re.compile(r"https?://([a-z0-9.-]+)(/[!\"$-z|}~]*)")
"""A URL without characters to escape or remove."""
_HINT = "`hindmost workload FILE` prints what is sent"
_FIRST = 3
"""Number of left-out entries that a note shows."""
_MISSHAPEN = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError)
"""Errors of reading an entry that does not have the shape of its format."""


class LeftOut(Exception):
    """Why an entry is left out: a code and fields, as in an error."""

    def __init__(self, text: str, code: str = "bad-file", **fields: object) -> None:
        super().__init__(text)
        self.code, self.fields = code, fields


@dataclass
class Entries:
    """The entries of a file.

    Parameters
    ----------
    place : Place
        The file.
    hint : str
        The form of an entry.
    """

    place: Place
    hint: str
    _read: list[tuple[Place, str, bytes, Request]] = field(default_factory=list)
    _left_out: dict[Place, LeftOut] = field(default_factory=dict)

    def read(self, place: Place, make: Callable[[], tuple[str, Request]]) -> None:
        """Read the entry at `place`; `make` returns its host (empty: any) and the request."""
        try:
            host, request = make()
            written = _ENCODER.encode(request)  # fails for half a surrogate pair
        except LeftOut as why:
            self.leave_out(place, why)
        except _MISSHAPEN as error:
            self.leave_out(place, LeftOut(f"it does not have the shape of a request: {error!r}"[:200]))
        else:
            self._read.append((place, host, written, request))

    def leave_out(self, place: Place, why: LeftOut) -> None:
        """Leave out the entry at `place`."""
        self._left_out.setdefault(place, why)

    def workload(self) -> tuple[dict[str, Any], tuple[Note, ...]]:
        """Return the workload of all requests to the most frequent host, and notes on left-out entries.

        Raises
        ------
        UsageError
            If no entry is left; names the first and the reason.
        """
        total = len(self._read) + len(self._left_out)
        places: dict[bytes, list[Place]] = {}
        requests_by_text: dict[bytes, Request] = {}
        for place, written, request in self._of_one_host():
            places.setdefault(written, []).append(place)
            requests_by_text[written] = request
        order = list(places)
        for index, refusal in json.loads(_engine.refused_requests(f"[{b','.join(places).decode()}]")):
            why = f"its {refusal['field'].removeprefix('request.')} must be {refusal['must']}"
            written = order[index]
            for duplicate in places[written]:
                self.leave_out(duplicate, LeftOut(why, key=refusal["field"]))
            del requests_by_text[written]
        if not requests_by_text:
            raise self._empty_error()
        requests = [
            request | {"weight": len(places[written])} for written, request in requests_by_text.items()
        ]
        name_notes = _assign_names(requests)
        notes = [self._note(total)] if self._left_out else []
        return {"kind": "http", "requests": requests}, (*notes, *name_notes)

    def _of_one_host(self) -> Iterator[tuple[Place, bytes, Request]]:
        hosts = Counter(host for _, host, _, _ in self._read if host)
        most = hosts.most_common(1)[0][0] if hosts else ""
        for place, host, written, request in self._read:
            if host in ("", most):
                yield place, written, request
            else:
                self.leave_out(
                    place, LeftOut(f"it goes to {host}, most go to {most}", "other-host", name=host)
                )

    def _empty_error(self) -> UsageError:
        if not self._left_out:
            text = f"{self.place} holds no request"
            return UsageError("bad-file", text, hint=self.hint, **self.place.fields())
        place, why = self._first()[0]
        return UsageError(why.code, f"{place}: {why}", hint=self.hint, **{**place.fields(), **why.fields})

    def _first(self) -> list[tuple[Place, LeftOut]]:
        """Return the left-out entries in the order of the file."""

        def order(one: tuple[Place, LeftOut]) -> int:
            return one[0].line or one[0].entry or 0

        return sorted(self._left_out.items(), key=order)

    def _note(self, total: int) -> Note:
        first = self._first()
        shown = "; ".join(f"{place.within}: {why}" for place, why in first[:_FIRST])
        more = "; ..." if len(first) > _FIRST else ""
        values = {
            "path": str(self.place.path),
            "count": len(first),
            "of": total,
            "codes": dict(Counter(why.code for _, why in first)),
            "first": [
                {**place.fields(), "code": why.code, "why": str(why), **why.fields}
                for place, why in first[:_FIRST]
            ],
        }
        text = f"{len(first)} of {total} requests in {self.place.path} were left out: {shown}{more}"
        return Note("requests-left-out", text, values, _HINT)


def method_of(text: object) -> str:
    """Return the method as sent; the standard methods are in capitals."""
    if not isinstance(text, str) or not text:
        raise LeftOut("it has no method")
    return text.upper() if text.upper() in METHODS else text


def split_url(url: object) -> tuple[str, str]:
    """Return the host of an HTTP URL, and its path with the query as a template.

    >>> split_url("http://A:1/x?y=1#z"), split_url("/x y")
    (('a:1', '/x?y=1'), ('', '/x%20y'))
    """
    if isinstance(url, str) and (plain := _PLAIN.fullmatch(url)):
        return plain[1], plain[2]
    shown = str(url).partition("?")[0][:60]
    if not isinstance(url, str):
        raise LeftOut(f"{shown!r} is not a URL", value=shown)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise LeftOut(f"{shown!r} is not a URL", value=shown) from None
    if not (parts.scheme in ("http", "https") and host) and (not url.startswith("/") or host):
        raise LeftOut(f"{shown!r} is not an HTTP URL", value=shown)
    if port not in (None, {"http": 80, "https": 443}.get(parts.scheme)):
        host = f"{host}:{port}"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # Like a browser, encode everything except the printable characters of ASCII.
    return host, escape_braces(quote(path, safe=string.punctuation))


def body_of(data: bytes) -> str | dict[str, str]:
    """Return a body: a template of its text, or its bytes if they are not UTF-8."""
    try:
        return escape_braces(data.decode())
    except UnicodeDecodeError:
        return {"hex": data.hex()}


def multipart(parts: Sequence[tuple[str, str, str | None, str | None]], boundary: str) -> str:
    """Return a body of ``multipart/form-data`` (RFC 7578).

    Parameters
    ----------
    parts : sequence of (name, value, file name or None, content type or None)
        Values are templates.
    boundary : str
    """
    text = ""
    for name, value, file, kind in parts:
        names = f'form-data; name="{_escape(name)}"' + (
            "" if file is None else f'; filename="{_escape(file)}"'
        )
        about = "" if kind is None else f"Content-Type: {kind}\r\n"
        text += f"--{boundary}\r\nContent-Disposition: {escape_braces(names)}\r\n{about}\r\n{value}\r\n"
    return f"{text}--{boundary}--\r\n"


def _escape(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _assign_names(requests: list[Request]) -> list[Note]:
    """Give requests names for results, and note it where that hides differences."""
    methods: dict[str, set[str]] = defaultdict(set)
    for request in requests:
        methods[request_name(request)].add(request["method"])
    named: dict[str, list[Request]] = defaultdict(list)
    for request in requests:
        if len(methods[name := request_name(request)]) > 1:
            request.pop("name", None)
            name = request_name(request)
        if len(name.encode()) > _LONGEST_NAME:
            digest = hashlib.sha256(name.encode()).hexdigest()[:8]
            name = f"{name.encode()[: _LONGEST_NAME - 9].decode(errors='ignore')}~{digest}"
            request["name"] = name
        named[name].append(request)
    notes = []
    if len(named) > _MOST_KINDS:
        text = (
            f"results count requests by method: they have {len(named)} names, and at most {_MOST_KINDS}"
            " are counted apart"
        )
        values = {"have": len(named), "limit": _MOST_KINDS}
        notes.append(Note("requests-counted-together", text, values, _HINT))
        named.clear()
        for request in requests:
            request["name"] = request["method"].lower()
            named[request["name"]].append(request)
    for group in named.values():
        _accept_alike(group)
    return notes


def _accept_alike(group: list[Request]) -> None:
    """Let requests of one name accept all codes that any of them accepts."""
    accepted = [request.get("accept", ["2xx"]) for request in group]
    if any(codes != accepted[0] for codes in accepted):
        every = sorted({code for codes in accepted for code in codes}, key=str)
        for request in group:
            request["accept"] = every
