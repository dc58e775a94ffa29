"""Targets of ``vegeta``, in HTTP format or JSON (https://github.com/tsenart/vegeta, "-format").

In the HTTP format a target is a line with method and URL, then lines with headers, and optionally a line
``@FILE`` with its body; empty lines separate targets. In JSON a target is an object: one per line, or all in
one list.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hindmost.core.plan.http import escape_braces
from hindmost.core.plan.secrets import literal
from hindmost.core.plan.sources.entries import (
    METHODS,
    OWN_HEADERS,
    Entries,
    LeftOut,
    Request,
    body_of,
    method_of,
    split_url,
)
from hindmost.core.plan.sources.place import Place

_START = re.compile(r"([A-Za-z]+)\s+(\S+)$")
_HINT = "a target is METHOD URL, then lines NAME: VALUE, then perhaps @FILE"
_JSON_HINT = 'one target per line: {"method": "GET", "url": "http://..."}'


def from_vegeta(text: str, folder: Path, place: Place) -> Entries:
    """Read all targets; their files are relative to the folder of the targets file."""
    if text.lstrip().startswith("{"):
        entries = Entries(place, _JSON_HINT)
        for at, line in enumerate(text.splitlines(), 1):
            if line.strip():
                entries.read(Place(place.path, line=at), partial(_of_line, line))
        return entries
    entries = Entries(place, _HINT)
    target: list[str] = []
    began = 1
    for at, line in enumerate([*text.splitlines(), ""], 1):
        line = line.strip()
        if target and (_begins(line) or not line):
            entries.read(Place(place.path, line=began), partial(_of_lines, target, folder, began))
            target = []
        if line and not line.startswith("#"):
            began = at if not target else began
            target.append(line)
        elif target and line:
            target.append("#")
    return entries


def from_vegeta_list(targets: Sequence[Any], place: Place) -> Entries:
    """Read a list of targets in JSON."""
    entries = Entries(place, _JSON_HINT)
    for at, target in enumerate(targets, 1):
        entries.read(Place(place.path, entry=at), partial(_of_json, target))
    return entries


def _begins(line: str) -> bool:
    start = _START.match(line)
    return start is not None and (start[1].isupper() or start[1].upper() in METHODS)


def _of_lines(lines: Sequence[str], folder: Path, began: int) -> tuple[str, Request]:
    start = _START.match(lines[0])
    if start is None or not _begins(lines[0]):
        raise LeftOut(f"{lines[0][:40]!r} does not begin a target", value=lines[0][:40])
    host, path = split_url(start[2])
    found: Request = {"method": method_of(start[1]), "path": path}
    for at, line in enumerate(lines[1:], began + 1):
        name, colon, value = line.partition(":")
        if line.startswith("#"):
            continue
        if line.startswith("@"):
            file = (folder / line[1:]).absolute()
            if not file.is_file():
                raise LeftOut(f"there is no file {file}", "no-such-file", line=at, name=str(file))
            found["body"] = {"file": str(file)}
        elif not colon:
            raise LeftOut(f"{name[:40]!r} is not a header", line=at, value=name[:40])
        else:
            _add_header(found, name.strip(), value.strip())
    return host, found


def _of_line(line: str) -> tuple[str, Request]:
    return _of_json(json.loads(line))


def _of_json(target: dict[str, Any]) -> tuple[str, Request]:
    host, path = split_url(target["url"])
    found: Request = {"method": method_of(target["method"]), "path": path}
    for name, values in (target.get("header") or {}).items():
        _add_header(found, name, values if isinstance(values, str) else ", ".join(values))
    if body := target.get("body"):
        found["body"] = body_of(base64.b64decode(body, validate=True))
    return host, found


def _add_header(request: Request, name: str, value: str) -> None:
    """Add a header; the values of repeated headers are joined into one list."""
    if name.lower() in OWN_HEADERS:
        return
    headers = request.setdefault("headers", {})
    known = next((other for other in headers if other.lower() == name.lower()), name)
    value = literal(escape_braces(value))
    headers[known] = f"{headers[known]}, {value}" if known in headers else value
