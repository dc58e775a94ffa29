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
from hindmost.plan.secrets import literal
from hindmost.plan.sources.place import Place

_START = re.compile(r"([A-Z]+)\s+(\S+)$")
_HINT = "a target is METHOD URL, then lines NAME: VALUE, then perhaps @FILE"


def from_vegeta(text: str, folder: Path, place: Place) -> list[dict[str, Any]]:
    """Read all targets, whose files lie beside theirs.

    Raises
    ------
    UsageError
        Names the line that is none.
    """
    if text.lstrip().startswith("{"):
        lines = [(at, line) for at, line in enumerate(text.splitlines(), 1) if line.strip()]
        return [_json(line, place.at(at)) for at, line in lines]
    found: list[dict[str, Any]] = []
    within = False
    for at, line in enumerate(text.splitlines(), 1):
        line, here = line.strip(), place.at(at)
        if not line:
            within = False
        elif line.startswith("#"):
            continue
        elif start := _START.match(line):
            found.append({"method": start[1], "path": path_of(start[2], here)})
            within = True
        elif not within:
            raise UsageError(
                "bad-file",
                f"{here}: {line[:40]!r} does not begin a target",
                hint=_HINT,
                value=line[:40],
                **here.fields(),
            )
        elif line.startswith("@"):
            file = (folder / line[1:]).absolute()
            if not file.is_file():
                raise UsageError(
                    "no-such-file",
                    f"{here}: there is no file {file}",
                    hint=_HINT,
                    name=str(file),
                    **here.fields(),
                )
            found[-1]["body"] = {"file": str(file)}
        else:
            name, colon, value = line.partition(":")
            if not colon:
                raise UsageError(
                    "bad-file",
                    f"{here}: {name[:40]!r} is not a header",
                    hint=_HINT,
                    value=name[:40],
                    **here.fields(),
                )
            found[-1].setdefault("headers", {})[name.strip()] = literal(quoted(value.strip()))
    return found


def _json(line: str, place: Place) -> dict[str, Any]:
    try:
        target = json.loads(line)
        found: dict[str, Any] = {"method": target["method"], "path": path_of(target["url"], place)}
        if header := target.get("header"):
            found["headers"] = {name: literal(quoted(", ".join(values))) for name, values in header.items()}
        if body := target.get("body"):
            found["body"] = quoted(base64.b64decode(body, validate=True).decode("utf-8"))
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise UsageError(
            "bad-file",
            f"{place} is not a target in vegeta's JSON format: {error!r}",
            hint='{"method": "GET", "url": "http://..."}',
            **place.fields(),
        ) from None
    return found


def path_of(url: str, place: Place) -> str:
    """The path of a URL with its query, as a template; its host is that of the target measured.

    >>> path_of("http://a:1/x?y=1#z", Place(Path("targets.txt")))
    '/x?y=1'
    """
    parts = urlsplit(url)
    if not (parts.scheme in ("http", "https") and parts.netloc) and not url.startswith("/"):
        raise UsageError(
            "bad-file",
            f"{place}: {url[:60]!r} is not an HTTP URL",
            hint=_HINT,
            value=url[:60],
            **place.fields(),
        )
    return quoted((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
