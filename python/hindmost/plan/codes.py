"""HTTP status codes, as people write which are a success: ``2xx,304``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindmost.errors import UsageError

Codes = Sequence[int | str]
"""Status codes, and classes of them such as ``2xx``, as a workload has them."""


def accepted(line: bytes, accept: Codes) -> bool:
    """Whether the first line of a reply has a status code that is among these.

    >>> accepted(b"HTTP/1.1 404 Not Found", ["2xx", 404]), accepted(b"HTTP/1.1 404 Not Found", ["2xx"])
    (True, False)
    """
    found = re.match(rb"\S+ ([2-5])(\d\d)\b", line)
    if found is None:
        return False
    kind, rest = found[1].decode(), found[2].decode()
    return any(str(one) in (kind + rest, f"{kind}xx") for one in accept)


def parse_codes(text: str) -> list[str | int]:
    """Read a list of status codes and classes of them, as a workload has it.

    >>> parse_codes("2xx, 304")
    ['2xx', 304]

    Raises
    ------
    UsageError
        If one is neither.
    """
    return [_one(part.strip(), text) for part in text.split(",")]


def _one(part: str, text: str) -> str | int:
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
