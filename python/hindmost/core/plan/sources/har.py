"""HAR files, as saved by browsers (HTTP Archive 1.2, http://www.softwareishard.com/blog/har-12-spec)."""

from __future__ import annotations

import base64
import re
from functools import partial
from typing import Any
from urllib.parse import unquote_plus, urlencode

from hindmost.core.plan.http import escape_braces
from hindmost.core.plan.secrets import literal
from hindmost.core.plan.sources.entries import (
    OWN_HEADERS,
    Entries,
    LeftOut,
    Request,
    body_of,
    method_of,
    multipart,
    split_url,
)
from hindmost.core.plan.sources.place import Place
from hindmost.errors import UsageError

_OWN = (*OWN_HEADERS, "host", "accept-encoding", "keep-alive", "te")
"""Headers of the browser's own connection. Cache headers would give replies without bodies."""
_CACHE = ("if-none-match", "if-modified-since")
_ENCODED = re.compile(r"(?:[^%]|%[0-9A-Fa-f]{2})*")


def from_har(document: dict[str, Any], place: Place) -> Entries:
    """Read all entries.

    Raises
    ------
    UsageError
        If the document has no list of entries.
    """
    log = document["log"]
    log_entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(log_entries, list):
        raise UsageError(
            "bad-file",
            f"{place} is not a HAR file: it has no list log.entries",
            hint="log.entries holds the requests",
            key="log.entries",
            **place.fields(),
        )
    entries = Entries(place, "give a HAR file saved by a browser")
    for number, entry in enumerate(log_entries, 1):
        entries.read(Place(place.path, entry=number), partial(_request, entry))
    return entries


def _request(entry: dict[str, Any]) -> tuple[str, Request]:
    request = entry["request"]
    host, path = split_url(request["url"])
    result: Request = {"method": method_of(request["method"]), "path": path}
    headers = _headers(request)
    body = _body(request, headers)
    if headers:
        result["headers"] = {name: literal(escape_braces(value)) for name, value in headers.items()}
    if body is not None:
        result["body"] = body
    return host, result


def _headers(request: dict[str, Any]) -> dict[str, str]:
    headers: dict[str, str] = {}
    names: dict[str, str] = {}
    for header in request.get("headers") or []:
        name, value = str(header["name"]), str(header.get("value") or "")
        if name.startswith(":") or name.lower() in (*_OWN, *_CACHE):
            continue
        known = names.setdefault(name.lower(), name)
        separator = "; " if known.lower() == "cookie" else ", "
        headers[known] = f"{headers[known]}{separator}{value}" if known in headers else value
    if "cookie" not in names and (cookies := request.get("cookies")):
        headers["Cookie"] = "; ".join(f"{one['name']}={one['value']}" for one in cookies)
    return headers


def _body(request: dict[str, Any], headers: dict[str, str]) -> str | dict[str, str] | None:
    """Return the body; add its Content-Type to `headers` if they have none."""
    data = request.get("postData") or {}
    text, params = data.get("text"), data.get("params") or []
    kind = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
    if not kind and (text or params) and (kind := str(data.get("mimeType") or "")):
        headers["Content-Type"] = kind
    if text and data.get("encoding") == "base64":
        return body_of(base64.b64decode(text))
    if text:
        return escape_braces(text)
    if params:
        return _form(params, kind)
    if (request.get("bodySize") or 0) > 0:
        raise LeftOut(f"its body of {request['bodySize']} bytes is not in the file")
    return None if text is None else ""


def _form(params: list[dict[str, Any]], kind: str) -> str:
    if any(one.get("fileName") and one.get("value") is None for one in params):
        raise LeftOut("the file that it sends is not in the document")
    values = [(str(one["name"]), str(one.get("value") or "")) for one in params]
    if kind.startswith("multipart/form-data"):
        boundary = re.search(r'boundary="?([^";\s]+)', kind)
        if boundary is None:
            raise LeftOut("its multipart form has no boundary")
        parts = [
            (name, escape_braces(value), one.get("fileName"), one.get("contentType"))
            for (name, value), one in zip(values, params, strict=True)
        ]
        return multipart(parts, boundary[1])
    # Some tools write names and values URL-encoded, others as typed.
    every = "".join(text for pair in values for text in pair)
    if "%" in every and _ENCODED.fullmatch(every):
        values = [(unquote_plus(name), unquote_plus(value)) for name, value in values]
    return escape_braces(urlencode(values))
