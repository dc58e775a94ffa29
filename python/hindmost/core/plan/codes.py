"""HTTP status codes that count as success, as users write them: ``2xx,304``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hindmost.errors import UsageError

_REDIRECTIONS = (301, 302, 303, 307, 308)

Codes = Sequence[int | str]
"""Status codes, and classes such as ``2xx``, in the form of a workload."""


def is_accepted(line: bytes, accept: Codes) -> bool:
    """Whether the status line of a reply has one of these status codes.

    >>> is_accepted(b"HTTP/1.1 404 Not Found", ["2xx", 404]), is_accepted(b"HTTP/1.1 404 Not Found", ["2xx"])
    (True, False)
    """
    match = re.match(rb"\S+ ([2-5])(\d\d)\b", line)
    if match is None:
        return False
    kind, digits = match[1].decode(), match[2].decode()
    return any(str(code) in (kind + digits, f"{kind}xx") for code in accept)


def accepted_at_first(workload: Mapping[str, Any], own: Codes = ()) -> Codes:
    """Return the status codes that a first request may get: success, and redirections that are followed.

    Parameters
    ----------
    workload : mapping
        Of any kind.
    own : sequence of int and str
        Status codes that count as success of this request; default: those of the workload.

    Examples
    --------
    >>> accepted_at_first({"accept": ["2xx"], "follow": 1})
    ['2xx', 301, 302, 303, 307, 308]
    """
    return [*(own or workload.get("accept", ())), *(_REDIRECTIONS if workload.get("follow") else ())]


def parse_codes(text: str) -> list[str | int]:
    """Read a list of status codes and classes, in the form of a workload.

    >>> parse_codes("2xx, 304")
    ['2xx', 304]

    Raises
    ------
    UsageError
        If an item is neither.
    """
    return [_parse_code(part.strip(), text) for part in text.split(",")]


def _parse_code(part: str, text: str) -> str | int:
    if re.fullmatch(r"[2-5]xx", part):
        return part
    if re.fullmatch(r"[2-5]\d\d", part):
        return int(part)
    raise UsageError(
        "bad-value",
        f"--accept {text}: {part!r} is neither a status code from 200 to 599 nor a class like 2xx",
        hint="write it like --accept 2xx,304",
        option="--accept",
        value=part,
    )
