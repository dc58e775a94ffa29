"""What a reply that is none of the expected ones came from."""

from __future__ import annotations

import re

from hindmost.plan.protocols import ENTRIES, Protocol


def match(pattern: str, reply: bytes) -> re.Match[bytes] | None:
    """Whether a reply begins so, as the table of protocols writes it."""
    return re.match(pattern.encode(), reply, re.IGNORECASE | re.DOTALL)


def recognise(reply: bytes) -> tuple[str | None, Protocol | None]:
    """Guess from a reply what sent it: a name for people, and the protocol if it is one of ours.

    Examples
    --------
    >>> recognise(b"-ERR unknown command 'version'")
    ('redis', 'redis')
    """
    for entry in ENTRIES.values():
        if any(match(sign, reply) for sign in entry.signs):
            return entry.called, entry.name
    for what, sign in _STRANGERS.items():
        if match(sign, reply):
            return what, None
    return None, None


_STRANGERS = {
    "an SSH server": r"SSH-\d",
    "a TLS server": r"\x15\x03",
    "MySQL": r"[\x00-\xff]{3}\x00\x0a\d+\.",
    "a mail or FTP server": "220[ -]",
    "an HTTP/2 server": r"\x00\x00.\x04\x00",
}
"""What else may answer, by what its first bytes look like."""
