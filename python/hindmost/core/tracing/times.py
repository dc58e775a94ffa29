"""Service times of a traced server, as a log for `hindmost clone fit`.

A request arrives when it is readable. Its service starts when its thread turns to it (e4), and ends when its
response left (e6). If one send answered a whole batch, its requests get equal parts of the time, because
nothing separates them. What a thread does at other times, such as in the read itself, belongs to no service
time.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost import _engine
from hindmost.errors import HindmostError

COLUMNS = ("readable_ns", "started_ns", "left_ns", "reader")
HEAD = "arrival_ns,start_ns,end_ns,thread\n"


def write_times(records: Path, to: Path) -> int:
    """Write a server's log from a trace's records, and return its number of requests.

    Parameters
    ----------
    records : Path
        File written by ``hindmost trace --records``, with every request.
    to : Path
        CSV file to write.

    Raises
    ------
    HindmostError
        The file cannot be written.
    """
    read = _engine.read_columns(str(records), list(COLUMNS))
    arrival, start, end, thread = (np.frombuffer(column, dtype=np.int64) for column in read)
    rows = service_rows(arrival, start, end, thread)
    try:
        with to.open("w", encoding="utf-8") as file:
            file.write(HEAD)
            np.savetxt(file, rows, fmt="%d", delimiter=",")
    except OSError as error:
        raise HindmostError(
            "unwritable-file",
            f"cannot write {to}: {error.strerror}",
            hint="--times FILE.csv",
            option="--times",
            path=str(to),
        ) from None
    return len(rows)


def service_rows(
    arrival: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64], thread: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return a log's rows: a thread serves one request at a time, and none ends before it starts.

    Examples
    --------
    >>> alike = np.array([10, 10, 10])
    >>> service_rows(np.array([1, 2, 9]), alike, np.array([40, 40, 40]), np.array([7, 7, 7])).tolist()
    [[1, 10, 20, 7], [2, 20, 30, 7], [9, 30, 40, 7]]
    """
    order = np.lexsort((arrival, start, thread))
    arrival, start, end, thread = (column[order].copy() for column in (arrival, start, end, thread))
    first = np.r_[True, (start[1:] != start[:-1]) | (thread[1:] != thread[:-1])]
    batch = np.cumsum(first) - 1
    sizes = np.bincount(batch)
    begins, ends = start[first], np.zeros(len(sizes), dtype=np.int64)
    np.maximum.at(ends, batch, end)
    place = np.arange(len(start)) - np.flatnonzero(first)[batch]
    length = (ends - begins)[batch]
    start = begins[batch] + length * place // sizes[batch]
    end = begins[batch] + length * (place + 1) // sizes[batch]
    # A response may leave after the thread has turned to the next request.
    same = thread[1:] == thread[:-1]
    end[:-1] = np.where(same, np.minimum(end[:-1], start[1:]), end[:-1])
    kept = end > start
    rows = np.column_stack([np.minimum(arrival, start), start, end, thread])[kept]
    return rows[np.argsort(rows[:, 1], kind="stable")]
