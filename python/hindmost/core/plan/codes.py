"""HTTP status codes that count as success, as users write them: ``2xx,304``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindmost.errors import UsageError

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
