"""Targets of ``vegeta``, as HTTP format or JSON lines (https://github.com/tsenart/vegeta, "-format").

In the HTTP format a target is a line with method and URL, lines with headers below it, and perhaps a line
``@FILE`` with its body; targets stand apart by empty lines.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hindmost.errors import UsageError
from hindmost.plan.http import quoted

_START = re.compile(r"([A-Z]+)\s+(\S+)$")
_HINT = "a target is METHOD URL, then lines NAME: VALUE, then perhaps @FILE"


def from_vegeta(text: str, folder: Path, what: str) -> list[dict[str, Any]]:
    """Read all targets, whose files lie beside theirs.

    Raises
    ------
    UsageError
        Names the line that is none.
    """
    if text.lstrip().startswith("{"):
        lines = [(at, line) for at, line in enumerate(text.splitlines(), 1) if line.strip()]
        return [_json(line, f"{what}, line {at}") for at, line in lines]
    found: list[dict[str, Any]] = []
    within = False
    for at, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line:
            within = False
        elif line.startswith("#"):
            continue
        elif start := _START.match(line):
            found.append({"method": start[1], "path": path_of(start[2], f"{what}, line {at}")})
            within = True
        elif not within:
            raise UsageError("todo", f"{what}, line {at}: {line[:40]!r} begins no target", hint=_HINT)
        elif line.startswith("@"):
            file = (folder / line[1:]).absolute()
            if not file.is_file():
                raise UsageError("todo", f"{what}, line {at}: there is no file {file}", hint=_HINT)
            found[-1]["body"] = {"file": str(file)}
        else:
            name, colon, value = line.partition(":")
            if not colon:
                raise UsageError("todo", f"{what}, line {at}: {name[:40]!r} is no header", hint=_HINT)
            found[-1].setdefault("headers", {})[name.strip()] = quoted(value.strip())
    return found


def _json(line: str, what: str) -> dict[str, Any]:
    try:
        target = json.loads(line)
        found: dict[str, Any] = {"method": target["method"], "path": path_of(target["url"], what)}
        if header := target.get("header"):
            found["headers"] = {name: quoted(", ".join(values)) for name, values in header.items()}
        if body := target.get("body"):
            found["body"] = quoted(base64.b64decode(body, validate=True).decode("utf-8"))
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise UsageError(
            "todo",
            f"{what} is no target of vegeta's JSON format: {error!r}",
            hint='{"method": "GET", "url": "http://..."}',
        ) from None
    return found


def path_of(url: str, what: str) -> str:
    """The path of a URL with its query, as a template; its host is that of the target measured.

    >>> path_of("http://a:1/x?y=1#z", "line 1")
    '/x?y=1'
    """
    parts = urlsplit(url)
    if not (parts.scheme in ("http", "https") and parts.netloc) and not url.startswith("/"):
        raise UsageError("todo", f"{what}: {url[:60]!r} is no URL of HTTP", hint=_HINT)
    return quoted((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
