"""Standard output and standard error where nobody reads them any more."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO

from hindmost.escapes import plain

CLOSED = "note[output-closed]: standard output was closed before everything was written"


def silence(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere, so that it is not tried again at the end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def say(*lines: str, out: TextIO | None = None, head: str = "", end: str = "\n") -> None:
    """Tell people; where nobody is left to be told, that is no error, and work goes on.

    Parameters
    ----------
    *lines : str
        What is told.
    out : file, optional
        Where people look: standard error.
    head : str
        Before each line: our own control characters.
    end : str
        Behind each line.
    """
    stream = out or sys.stderr
    try:
        for line in lines:
            print(f"{head}{plain(line)}", file=stream, end=end, flush=True)
    except OSError:
        silence(stream)
