"""Standard output and standard error where nobody reads them any more."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO

CLOSED = "note[output-closed]: standard output was closed before everything was written"


def silence(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere, so that it is not tried again at the end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def say(*lines: str, out: TextIO | None = None, end: str = "\n") -> None:
    """Tell people; where nobody is left to be told, that is no error, and work goes on.

    Parameters
    ----------
    *lines : str
        What is told.
    out : file, optional
        Where people look: standard error.
    end : str
        Behind each line.
    """
    stream = out or sys.stderr
    try:
        for line in lines:
            print(line, file=stream, end=end, flush=True)
    except OSError:
        silence(stream)
