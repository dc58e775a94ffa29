"""Writing to standard output and standard error, including when their reader is gone."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO

from hindmost.core.escapes import plain

CLOSED = "note[output-closed]: standard output was closed before everything was written"


def silence(stream: TextIO) -> None:
    """Discard a stream's buffered output, so that it is not written again at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def say(*lines: str, out: TextIO | None = None, head: str = "", end: str = "\n") -> None:
    """Print lines for people. A reader that is gone is no error.

    Parameters
    ----------
    *lines : str
        The text.
    out : file, optional
        The stream. Default: standard error.
    head : str
        Control characters to print before each line.
    end : str
        Text to print after each line.
    """
    stream = out or sys.stderr
    try:
        for line in lines:
            print(f"{head}{plain(line)}", file=stream, end=end, flush=True)
    except OSError:
        silence(stream)
