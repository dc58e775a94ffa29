"""HAR files, as browsers save them (HTTP Archive 1.2, http://www.softwareishard.com/blog/har-12-spec)."""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from hindmost.errors import UsageError
from hindmost.plan.http import quoted
from hindmost.plan.secrets import literal
from hindmost.plan.sources.place import Place
from hindmost.plan.sources.vegeta import path_of

_OWN = ("host", "content-length", "connection", "transfer-encoding", "accept-encoding", "keep-alive", "te")
"""Headers of the browser's own connection; those of caches would make replies without bodies."""
_CACHE = ("if-none-match", "if-modified-since")


def from_har(document: dict[str, Any], place: Place) -> list[dict[str, Any]]:
    """Read the requests to the host that most of them go to.

    Raises
    ------
    UsageError
        If an entry has not the shape that the format asks for; names its number.
    """
    try:
        entries = document["log"]["entries"]
        hosts = Counter(urlsplit(one["request"]["url"]).netloc for one in entries)
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            "bad-file",
            f"{place} is not a HAR file: {error!r}",
            hint="log.entries holds the requests",
            **place.fields(),
        ) from None
    if not hosts:
        return []
    most = hosts.most_common(1)[0][0]
    found = []
    for at, one in enumerate(entries):
        request = one["request"]
        if urlsplit(request["url"]).netloc == most:
            found.append(_request(request, replace(place, entry=at + 1)))
    return found


def _request(request: dict[str, Any], place: Place) -> dict[str, Any]:
    try:
        found: dict[str, Any] = {"method": request["method"], "path": path_of(request["url"], place)}
        headers: dict[str, str] = {}
        for one in request.get("headers", []):
            name = str(one["name"])
            if not name.startswith(":") and name.lower() not in (*_OWN, *_CACHE):
                other = next((key for key in headers if key.lower() == name.lower()), None)
                together = f"{headers[other]}, {one['value']}" if other else str(one["value"])
                headers[other or name] = together
        if headers:
            found["headers"] = {name: literal(quoted(value)) for name, value in headers.items()}
        if (text := request.get("postData", {}).get("text")) is not None:
            if request["postData"].get("encoding") == "base64":
                text = base64.b64decode(text).decode("utf-8")
            found["body"] = quoted(text)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            "bad-file",
            f"{place} is not a request: {error!r}",
            hint="give a HAR file as a browser saves it",
            **place.fields(),
        ) from None
    return found
