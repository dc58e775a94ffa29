"""Scheduled, sent and completed times of single requests: the uniform sample that each client keeps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hindmost import _engine
from hindmost.stats import NEVER

Nanos = npt.NDArray[np.int64]

UNANSWERED = ("timeout", "unsent")
"""These count as infinitely late, as in the histograms. Error replies have no latency."""


@dataclass(frozen=True, slots=True)
class RequestTimes:
    """Times of requests, ordered by scheduled time, in ns since the measurement began; `NEVER` if absent."""

    scheduled: Nanos
    sent: Nanos
    completed: Nanos


def read_request_times(folder: Path, index: int) -> RequestTimes:
    """Read the request times that a client sampled.

    Raises
    ------
    StudyError
        If its file cannot be read.
    """
    from hindmost.errors import StudyError

    path = folder / f"samples-{index}.parquet"
    try:
        columns = _engine.read_columns(str(path), ["scheduled_ns", "sent_ns", "completed_ns"])
        status = np.array(_engine.read_words(str(path), ["status"])[0], dtype=object)
    except _engine.EngineError as error:
        raise StudyError(
            "damaged-run", f"{path} cannot be read: {error.args[1]}", hint=f"ls -l {path}", path=str(path)
        ) from None
    scheduled, sent, completed = (np.frombuffer(column, np.int64) for column in columns)
    late = np.isin(status, UNANSWERED)
    counts = late | np.isin(status, ("hit", "miss"))
    order = np.flatnonzero(counts)[np.argsort(scheduled[counts], kind="stable")]
    unsent = sent < scheduled  # null reads as the least integer
    return RequestTimes(
        scheduled[order], np.where(unsent, NEVER, sent)[order], np.where(late, NEVER, completed)[order]
    )
