"""Requests of HTTP as people give them: one by options, or files that other tools wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hindmost import documents
from hindmost.errors import UsageError

_SHORT = 1 << 16
_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
_NOT_IN_NAMES = re.compile(r"[,\s\x00-\x1f\x7f-\x9f]")


def one_request(path: str, method: str | None, body: str | None) -> dict[str, Any]:
    """The workload of one request.

    Parameters
    ----------
    path : str
        With the query.
    method : str, optional
        As it is sent; by default POST with a body, and GET without.
    body : str, optional
        Its text, which may have fields such as ``{{uuid}}``, or ``@FILE`` for the bytes of a file.

    Raises
    ------
    UsageError
        If the file of the body cannot be read.

    Examples
    --------
    >>> one_request("/orders", None, '{"id": {{int:1..9}}}')["requests"][0]["method"]
    'POST'
    """
    what = method or ("GET" if body is None else "POST")
    request: dict[str, Any] = {"name": what.lower(), "method": what, "path": path}
    if body is not None:
        request["body"], kind = _body(body)
        request["headers"] = {"Content-Type": kind}
    return {"kind": "http", "requests": [request]}


def _body(text: str) -> tuple[str | dict[str, str], str]:
    if not text.startswith("@"):
        return text, _kind_of(text)
    file = Path(text[1:]).expanduser().absolute()
    try:
        with file.open("rb") as opened:
            start = opened.read(_SHORT)
    except OSError as error:
        raise UsageError(
            "unreadable-file" if file.exists() else "no-such-file",
            f"--body {text}: cannot read {file}: {error.strerror}",
            hint=f"ls -l {file}",
            option="--body",
            path=str(file),
        ) from None
    return {"file": str(file)}, _kind_of(start.decode("utf-8", "replace"))


def read_text(body: str) -> str:
    """The text of ``--body``, or of the file that it names.

    Raises
    ------
    UsageError
        If the file cannot be read, or holds no text.
    """
    if not body.startswith("@"):
        return body
    file = Path(body[1:]).expanduser().absolute()
    try:
        return documents.read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(
            "unreadable-file" if file.exists() else "no-such-file",
            f"--body {body}: cannot read {file}: {why}",
            hint=f"ls -l {file}",
            option="--body",
            path=str(file),
        ) from None


def _kind_of(text: str) -> str:
    return "application/json" if text.lstrip()[:1] in ("{", "[") else "application/octet-stream"


def parse_headers(lines: Iterable[str]) -> dict[str, str]:
    """Read headers as they are written on a command line.

    >>> parse_headers(["Accept: text/plain", "X-Tenant:a"])
    {'Accept': 'text/plain', 'X-Tenant': 'a'}

    Raises
    ------
    UsageError
        If one has no colon, or stands there twice. Its value is not told.
    """
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.strip()
        if not colon or not name or name in ("env", "file"):
            raise UsageError(
                "bad-value",
                f"--header {name[:20]!r}... is not NAME: VALUE"
                if len(name) > 20
                else f"--header {name!r} is not NAME: VALUE",
                hint="write it like --header 'Authorization: Bearer env:TOKEN'",
                option="--header",
                name=name[:20],
            )
        if name.lower() in {other.lower() for other in found}:
            raise UsageError(
                "duplicate-name",
                f"--header {name} is given twice",
                hint="give each header once",
                option="--header",
                name=name,
            )
        found[name] = value.strip()
    return found


def with_headers(workload: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    """A workload whose requests have these headers, in place of those of the same name."""
    names = {name.lower() for name in headers}

    def without(given: Any) -> dict[str, Any]:  # noqa: ANN401 (whatever stands in the file)
        old = given if isinstance(given, dict) else {}
        return {name: value for name, value in old.items() if name.lower() not in names}

    changed = workload | {"headers": without(workload.get("headers")) | headers}
    if isinstance(requests := changed.get("requests"), list):
        changed["requests"] = [
            one | {"headers": kept}
            if (kept := without(one.get("headers")))
            else {key: value for key, value in one.items() if key != "headers"}
            for one in requests
        ]
    return changed


def placed(workload: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A workload whose files are found from anywhere; as written they lie next to the workload's own."""

    def absolute(one: object, *keys: str) -> Any:  # noqa: ANN401 (whatever stands in the file)
        if not isinstance(one, dict):
            return one
        return one | {
            key: str((folder / one[key]).absolute()) for key in keys if isinstance(one.get(key), str)
        }

    found = workload
    if "data" in found:
        found = found | {"data": absolute(found["data"], "file")}
    if isinstance(requests := found.get("requests"), list):
        found = found | {
            "requests": [
                one | {"body": absolute(one["body"], "file", "template")}
                if isinstance(one, dict) and "body" in one
                else one
                for one in requests
            ]
        }
    return found


def called(request: dict[str, Any]) -> str:
    """What results call a request: its name, or method and path.

    >>> called({"method": "POST", "path": "/a?b=c"})
    'post:/a'
    """
    made = f"{request.get('method', 'GET').lower()}:{request.get('path', '/').partition('?')[0]}"
    return str(request.get("name") or plain_name(made))


def plain_name(text: str) -> str:
    """A name that a log of histograms can have in a tag: without commas, blanks and control characters."""
    return _NOT_IN_NAMES.sub("_", text)


def quoted(text: str) -> str:
    """Plain text as a template has it: braces that open no field.

    >>> quoted("a{{b}}")
    'a{{{{b}}'
    """
    return text.replace("{{", "{{{{")


def as_json(value: object) -> str:
    """A body of JSON, in one line."""
    return _COMPACT.encode(value)
