"""Makes text from elsewhere safe for a terminal and for metrics: names may contain any characters."""

from __future__ import annotations

import re
from typing import TextIO

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except tab and new line, those that change the direction of writing, and surrogates."""
_COLOUR = re.compile(r"(\x1b\[(?:[0-7]|[39][0-7]|;)*m)")


def plain(text: str) -> str:
    """Replace control characters. A server may send any, for example as its version.

    Examples
    --------
    >>> plain(chr(27) + "[2J") == chr(0xFFFD) + "[2J"
    True
    """
    return text if text.isprintable() else _CONTROLS.sub("\ufffd", text)


def escape_label(value: str) -> str:
    r"""Escape the value of a label for the text format of Prometheus.

    >>> escape_label('a "b"')
    'a \\"b\\"'
    """
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class Plain:
    """A text stream that replaces control characters, and keeps colours only on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text without its control characters."""
        if self._stream.isatty() and "\x1b" in text:
            parts = _COLOUR.split(text)
            text = "".join(part if at % 2 else plain(part) for at, part in enumerate(parts))
        else:
            text = plain(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
