"""The result of reading: one time per request, and whatever else the file contains."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hindmost.commands.clone.fit.bins import Floats, Ints
from hindmost.core.notes import Note

COLUMNS = ("arrival_ns", "start_ns", "end_ns", "cpu_ns", "thread", "kind")
"""Columns of a server's log, as Hindmost's own servers write it; start_ns and end_ns are required."""

UNITS = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
"""Microseconds per unit."""


@dataclass(frozen=True)
class Log:
    """Times of requests in microseconds, ordered by the start of their service.

    Parameters
    ----------
    source : str
        The file or folder.
    sha256 : str
        Hexadecimal digest of the content.
    what : str
        Name of the times.
    wall_us : array of shape (n,)
        Time from start to end of each service.
    cpu_us : array of shape (n,), optional
        CPU time of the thread during the service.
    start_us : array of shape (n,), optional
        Start of each service since the first one; rising.
    arrival_us : array of shape (n,), optional
        Arrival of each request on the same clock.
    thread : array of shape (n,), optional
        Number of the serving thread, from 0.
    kind : array of shape (n,), optional
        Index of its kind in `kinds`.
    kinds : tuple of str
        Names of the kinds.
    outside_us : float
        Time that every request spent outside the server.
    wake_us : float
        Time until an idle server is awake.
    unknown : tuple of Note
        What is already known to be unknown.
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
        """Number of serving threads."""
        return 1 if self.thread is None else int(self.thread.max()) + 1

    @property
    def end_us(self) -> Floats | None:
        """End of each service."""
        return None if self.start_us is None else self.start_us + self.wall_us

    @property
    def span_us(self) -> float | None:
        """Time from the first start to the last end."""
        return None if self.end_us is None else float(self.end_us.max())

    @property
    def utilisation(self) -> float | None:
        """Mean utilisation of all threads; None if the log has no start times."""
        return float(self.wall_us.sum()) / (self.threads * self.span_us) if self.span_us else None


def join_logs(logs: Sequence[Log]) -> Log:
    """Join logs of the same server; columns that one of them lacks are dropped.

    Kinds are matched by name; they are dropped if the logs have different kinds.
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
        sha256=combine_digests(one.sha256 for one in logs),
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


def number_values(values: npt.NDArray[np.generic]) -> tuple[tuple[str, ...], Ints]:
    """Return the distinct values as strings, and the index of each entry among them."""
    names, place = np.unique(values, return_inverse=True)
    return tuple(str(name) for name in names), place.astype(np.int64)


def combine_digests(digests: Iterable[str]) -> str:
    """Return the SHA-256 of concatenated digests."""
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def digest(*paths: Path) -> str:
    """Return the SHA-256 of concatenated files."""
    found = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                found.update(part)
    return found.hexdigest()
