"""Due and done times of single requests: the uniform sample that each instance keeps of its measurement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from hindmost import _engine
from hindmost.stats import NEVER

Nanos = npt.NDArray[np.int64]

UNANSWERED = ("timeout", "unsent")
"""They count as infinitely late, as they do in the histograms; answers that were errors have no latency."""


def kept(folder: Path, index: int) -> tuple[Nanos, Nanos]:
    """Times of an instance's kept requests, by due time, in ns since the measurement began.

    Raises
    ------
    StudyError
        If its file cannot be read.
    """
    from hindmost.errors import StudyError

    path = folder / f"samples-{index}.parquet"
    try:
        due, done = (
            np.frombuffer(one, np.int64) for one in _engine.read_columns(str(path), ["due_ns", "done_ns"])
        )
        status = np.array(_engine.read_words(str(path), ["status"])[0], dtype=object)
    except _engine.EngineError as error:
        raise StudyError(f"{error.args[1]}", hint=f"ls -l {path}") from None
    late = np.isin(status, UNANSWERED)
    counts = late | np.isin(status, ("hit", "miss"))
    order = np.argsort(due[counts], kind="stable")
    return due[counts][order], np.where(late, NEVER, done)[counts][order]
