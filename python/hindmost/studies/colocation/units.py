"""Units of work of a program that runs on and on: lines on its stdout, or what a file of its own counts."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from pathlib import Path
from typing import Protocol

from hindmost.errors import TargetError

_PIPE_BYTES = 1 << 20
"""Room for the lines of a window: nobody reads while both processors are taken."""
_NUMBER = re.compile(rb"\s*([0-9]+(?:\.[0-9]+)?)\s*")
_NUMBER_BYTES = 32


class Units(Protocol):
    """Where units of work are counted.

    Attributes
    ----------
    name : str
        Of the unit, in the plural.
    on_stdout : bool
        Whether they are on the program's stdout.
    hint : str
        What to do where there are none.
    """

    name: str
    on_stdout: bool
    hint: str

    def attach(self, stdout: int | None) -> None:
        """Begin to count those of a program that has just been started, whose stdout is read there."""

    def total(self) -> float:
        """Units since then."""


class Lines:
    """Lines on stdout."""

    name = "lines"
    on_stdout = True
    hint = "print a line for each unit, flushed, and until the program is ended: python -u, stdbuf -oL"

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
    """A file: the number in it, if that is all that is in it, or else its bytes.

    Parameters
    ----------
    path : Path
        What it holds before the program runs does not count. It may come later.

    Raises
    ------
    TargetError
        Where it cannot be read.
    """

    on_stdout = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number: bool | None = None
        self.name = "counts"
        self.hint = (
            f"let the program write a number that grows into {path}, or append to it, until it is ended"
        )
        self._last = self._begin = self._now()

    def attach(self, stdout: int | None) -> None:  # noqa: D102
        self._begin = self._last

    def total(self) -> float:  # noqa: D102
        self._last = self._now()
        # A file of an earlier run that the program empties begins anew.
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
            # Emptied to be written anew; or nothing has been written.
            return self._last if self._number else 0.0
        number = _NUMBER.fullmatch(held)
        if self._number is None:
            self._number = number is not None
            self.name = "counts" if self._number else "bytes"
        if not self._number:
            return float(size)
        return float(number[1]) if number else self._last
