"""Recognizes what sent an unexpected reply."""

from __future__ import annotations

import re

from hindmost.core.plan.protocols import ENTRIES, Protocol


def match(pattern: str, reply: bytes) -> re.Match[bytes] | None:
    """Match the beginning of a reply with a pattern of the protocols' table."""
    return re.match(pattern.encode(), reply, re.IGNORECASE | re.DOTALL)


def recognise(reply: bytes) -> tuple[str | None, Protocol | None]:
    """Guess what sent a reply: return a readable name, and the protocol if we speak it.

    Examples
    --------
    >>> recognise(b"-ERR unknown command 'version'")
    ('redis', 'redis')
    """
    for entry in ENTRIES.values():
        if any(match(sign, reply) for sign in entry.signs):
            return entry.called, entry.name
    for name, sign in _STRANGERS.items():
        if match(sign, reply):
            return name, None
    return None, None


_STRANGERS = {
    "an SSH server": r"SSH-\d",
    "a TLS server": r"\x15\x03",
    "MySQL": r"[\x00-\xff]{3}\x00\x0a\d+\.",
    "a mail or FTP server": "220[ -]",
    "an HTTP/2 server": r"\x00\x00.\x04\x00",
}
"""Other servers, by the first bytes that they send."""
