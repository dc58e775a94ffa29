"""Units of work of a program that runs continuously: lines on its stdout, or the value or size of a file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from pathlib import Path
from typing import Protocol

from hindmost.errors import TargetError

_PIPE_BYTES = 1 << 20
"""Size of the pipe for the lines of a window, because this process may get no CPU during it."""
_NUMBER = re.compile(rb"\s*([0-9]+(?:\.[0-9]+)?)\s*")
_NUMBER_BYTES = 32


class Units(Protocol):
    """Source of a program's units of work.

    Attributes
    ----------
    name : str
        Name of the unit, in the plural.
    on_stdout : bool
        Whether units are lines on the program's stdout.
    hint : str
        What to do if there are no units.
    """

    name: str
    on_stdout: bool
    hint: str

    def attach(self, stdout: int | None) -> None:
        """Start counting the units of a new program, given the read end of its stdout."""

    def total(self) -> float:
        """Return the units since then."""


class Lines:
    """Lines on stdout."""

    name = "lines"
    on_stdout = True
    hint = "print a flushed line for each unit until the program is ended: python -u, stdbuf -oL"

    def __init__(self) -> None:
        self._lines = 0
        self._out = -1

    def attach(self, stdout: int | None) -> None:  # noqa: D102
        assert stdout is not None
        self._out = stdout
        os.set_blocking(self._out, False)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def total(self) -> float:  # noqa: D102
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._out, _PIPE_BYTES):
                self._lines += chunk.count(b"\n")
        return self._lines


class Counter:
    """A file: the number in it if it contains only a number, else its size in bytes.

    Parameters
    ----------
    path : Path
        Its contents before the program runs do not count. It may be created later.

    Raises
    ------
    TargetError
        The file cannot be read.
    """

    on_stdout = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number: bool | None = None
        self.name = "counts"
        self.hint = f"let the program write a growing number into {path}, or append to it, until it is ended"
        self._last = self._begin = self._now()

    def attach(self, stdout: int | None) -> None:  # noqa: D102
        self._begin = self._last

    def total(self) -> float:  # noqa: D102
        self._last = self._now()
        # If the program empties a file of an earlier run, counting starts again.
        self._begin = min(self._begin, self._last)
        return self._last - self._begin

    def _now(self) -> float:
        try:
            with self._path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                held = file.read(_NUMBER_BYTES + 1)
        except FileNotFoundError:
            return 0.0
        except OSError as error:
            raise TargetError(
                "unreadable-file",
                f"the counter {self._path} cannot be read: {error.strerror}",
                hint=f"ls -l {self._path}",
                path=str(self._path),
            ) from None
        if not held:
            # The program is rewriting the file, or has not written yet.
            return self._last if self._number else 0.0
        number = _NUMBER.fullmatch(held)
        if self._number is None:
            self._number = number is not None
            self.name = "counts" if self._number else "bytes"
        if not self._number:
            return float(size)
        return float(number[1]) if number else self._last
