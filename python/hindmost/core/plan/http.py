"""HTTP requests as users give them: one request in options, or files of other tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hindmost.core import documents
from hindmost.errors import UsageError, unreadable_file

_SHORT = 1 << 16
_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
_NOT_IN_NAMES = re.compile(r"[,\s\x00-\x1f\x7f-\x9f]")


def one_request(path: str, method: str | None, body: str | None) -> dict[str, Any]:
    """Return the workload of one request.

    Parameters
    ----------
    path : str
        With the query.
    method : str, optional
        The HTTP method; default: POST with a body, GET without.
    body : str, optional
        Its text, which may have fields such as ``{{uuid}}``, or ``@FILE`` for the contents of a file.

    Raises
    ------
    UsageError
        If the file of the body cannot be read.

    Examples
    --------
    >>> one_request("/orders", None, '{"id": {{int:1..9}}}')["requests"][0]["method"]
    'POST'
    """
    verb = method or ("GET" if body is None else "POST")
    request: dict[str, Any] = {"name": verb.lower(), "method": verb, "path": path}
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
        raise unreadable_file(file, error, place=f"--body {text}: ", option="--body") from None
    return {"file": str(file)}, _kind_of(start.decode("utf-8", "replace"))


def read_text(body: str) -> str:
    """Return the text of ``--body``, or of the file that it names.

    Raises
    ------
    UsageError
        If the file cannot be read, or is not text.
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
    """Read headers in the form of the command line.

    >>> parse_headers(["Accept: text/plain", "X-Tenant:a"])
    {'Accept': 'text/plain', 'X-Tenant': 'a'}

    Raises
    ------
    UsageError
        If a header has no colon, or is given twice. The message never shows its value.
    """
    headers: dict[str, str] = {}
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
        if name.lower() in {other.lower() for other in headers}:
            raise UsageError(
                "duplicate-name",
                f"--header {name} is given twice",
                hint="give each header once",
                option="--header",
                name=name,
            )
        headers[name] = value.strip()
    return headers


def with_headers(workload: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    """Return the workload with these headers in all requests, replacing headers of the same name."""
    names = {name.lower() for name in headers}

    def without(given: Any) -> dict[str, Any]:  # noqa: ANN401 (any value of the file)
        old = given if isinstance(given, dict) else {}
        return {name: value for name, value in old.items() if name.lower() not in names}

    changed = workload | {"headers": without(workload.get("headers")) | headers}
    if isinstance(requests := changed.get("requests"), list):
        changed["requests"] = [
            request | {"headers": remaining}
            if (remaining := without(request.get("headers")))
            else {key: value for key, value in request.items() if key != "headers"}
            for request in requests
        ]
    return changed


def with_absolute_files(workload: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the workload with absolute file names; they are written relative to its folder."""

    def absolute(value: object, *keys: str) -> Any:  # noqa: ANN401 (any value of the file)
        if not isinstance(value, dict):
            return value
        return value | {
            key: str((folder / value[key]).absolute()) for key in keys if isinstance(value.get(key), str)
        }

    result = workload
    if "data" in result:
        result = result | {"data": absolute(result["data"], "file")}
    if isinstance(requests := result.get("requests"), list):
        result = result | {
            "requests": [
                request | {"body": absolute(request["body"], "file", "template")}
                if isinstance(request, dict) and "body" in request
                else request
                for request in requests
            ]
        }
    return result


def request_name(request: dict[str, Any]) -> str:
    """Return the name of a request in results: its own, or method and path.

    >>> request_name({"method": "POST", "path": "/a?b=c"})
    'post:/a'
    """
    default = f"{request.get('method', 'GET').lower()}:{request.get('path', '/').partition('?')[0]}"
    return str(request.get("name") or plain_name(default))


def plain_name(text: str) -> str:
    """Replace commas, blanks and control characters, which the tag of a histogram log cannot have."""
    return _NOT_IN_NAMES.sub("_", text)


def escape_braces(text: str) -> str:
    """Escape braces of plain text, so that they open no template field.

    >>> escape_braces("a{{b}}")
    'a{{{{b}}'
    """
    return text.replace("{{", "{{{{")


def as_json(value: object) -> str:
    """Encode a JSON body in one line."""
    return _COMPACT.encode(value)
