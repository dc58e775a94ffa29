"""What was read: one time a request, and whatever else the file knows of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hindmost.models.fit.bins import Floats, Ints
from hindmost.notes import Note

COLUMNS = ("arrival_ns", "start_ns", "end_ns", "cpu_ns", "thread", "kind")
"""Columns of a server's log, as Hindmost's own servers write it; only start_ns and end_ns must be there."""

UNITS = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
"""Microseconds in one."""


@dataclass(frozen=True)
class Log:
    """Times of requests in microseconds, in the order in which their service began.

    Parameters
    ----------
    source : str
        The file or folder.
    sha256 : str
        Of what was read, hexadecimal.
    what : str
        Which of its columns are the times.
    wall_us : array of shape (n,)
        From begin to end of each service.
    cpu_us : array of shape (n,), optional
        CPU time of the thread within it.
    start_us : array of shape (n,), optional
        When it began, since the first one's begin; rising.
    arrival_us : array of shape (n,), optional
        When the request arrived, on the same clock.
    thread : array of shape (n,), optional
        Number of the thread that served it, from 0.
    kind : array of shape (n,), optional
        Number of its kind in `kinds`.
    kinds : tuple of str
        Names of the kinds.
    outside_us : float
        Time that every request took outside of the server.
    wake_us : float
        Time until an idle server was awake.
    unknown : tuple of Note
        What the reading already could not tell.
    """

    source: str
    sha256: str
    what: str
    wall_us: Floats = field(repr=False)
    cpu_us: Floats | None = field(default=None, repr=False)
    start_us: Floats | None = field(default=None, repr=False)
    arrival_us: Floats | None = field(default=None, repr=False)
    thread: Ints | None = field(default=None, repr=False)
    kind: Ints | None = field(default=None, repr=False)
    kinds: tuple[str, ...] = ()
    outside_us: float = 0.0
    wake_us: float = 0.0
    unknown: tuple[Note, ...] = ()

    @property
    def n(self) -> int:
        """Requests."""
        return int(self.wall_us.size)

    @property
    def threads(self) -> int:
        """Threads that served."""
        return 1 if self.thread is None else int(self.thread.max()) + 1

    @property
    def end_us(self) -> Floats | None:
        """When each service ended."""
        return None if self.start_us is None else self.start_us + self.wall_us

    @property
    def span_us(self) -> float | None:
        """From the first begin to the last end."""
        return None if self.end_us is None else float(self.end_us.max())

    @property
    def utilisation(self) -> float | None:
        """Busy share of all threads; None where the log has no moments."""
        return float(self.wall_us.sum()) / (self.threads * self.span_us) if self.span_us else None


def joined(logs: Sequence[Log]) -> Log:
    """Logs of the same server, one after the other; what one of them lacks, the whole lacks.

    Kinds are told by their names; a log without kinds, or with others, leaves none.
    """
    first, *others = logs
    if not others:
        return first
    begins = np.concatenate([[0.0], np.cumsum([one.span_us or 0.0 for one in logs])])

    def column(name: str, *, shifted: bool = False) -> Any:  # noqa: ANN401 (whatever the column holds)
        values = [getattr(one, name) for one in logs]
        if any(value is None for value in values):
            return None
        return np.concatenate(
            [value + begin if shifted else value for value, begin in zip(values, begins, strict=False)]
        )

    alike = all(one.kinds == first.kinds for one in others)
    return Log(
        source=", ".join(Path(one.source).name for one in logs),
        sha256=together(one.sha256 for one in logs),
        what=first.what,
        wall_us=column("wall_us"),
        cpu_us=column("cpu_us"),
        start_us=column("start_us", shifted=True),
        arrival_us=column("arrival_us", shifted=True),
        thread=column("thread"),
        kind=column("kind") if alike else None,
        kinds=first.kinds if alike else (),
        outside_us=max(one.outside_us for one in logs),
        wake_us=max(one.wake_us for one in logs),
        unknown=tuple({note.text: note for one in logs for note in one.unknown}.values()),
    )


def numbered(values: npt.NDArray[np.generic]) -> tuple[tuple[str, ...], Ints]:
    """Different values as texts, and the number of each entry among them."""
    names, place = np.unique(values, return_inverse=True)
    return tuple(str(name) for name in names), place.astype(np.int64)


def together(digests: Iterable[str]) -> str:
    """SHA-256 of several digests, one after the other."""
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def digest(*paths: Path) -> str:
    """SHA-256 of files, one after the other."""
    found = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                found.update(part)
    return found.hexdigest()
