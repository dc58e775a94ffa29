"""Text from elsewhere, made safe for a terminal: a server, a process or a file may say anything."""

from __future__ import annotations

import re
from typing import TextIO

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""All but tab and new line, those that turn the direction of writing, and halves of characters."""
_COLOUR = re.compile(r"(\x1b\[(?:[0-7]|[39][0-7]|;)*m)")


def plain(text: str) -> str:
    """Show control characters (a server may send any as its version) instead of obeying them.

    Examples
    --------
    >>> plain(chr(27) + "[2J") == chr(0xFFFD) + "[2J"
    True
    """
    return text if text.isprintable() else _CONTROLS.sub("\ufffd", text)


class Plain:
    """A stream of text that passes on no control characters; colours only to a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what is left of a text."""
        if self._stream.isatty() and "\x1b" in text:
            parts = _COLOUR.split(text)
            text = "".join(part if at % 2 else plain(part) for at, part in enumerate(parts))
        else:
            text = plain(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
