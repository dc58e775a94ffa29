"""A server's own log, `arrival_ns,start_ns,end_ns,cpu_ns,thread,kind`, with one line per request."""

from __future__ import annotations

import numpy as np

from hindmost.commands.clone.fit.bins import Floats, Ints
from hindmost.commands.clone.fit.reading.checks import check_times
from hindmost.commands.clone.fit.reading.log import Log, number_values
from hindmost.commands.clone.fit.reading.table import Table
from hindmost.core.notes import Note
from hindmost.errors import UsageError

MOST_KINDS = 32
"""Most distinct values of a column of kinds."""

SLACK_NS = 2_000.0
"""Normal difference between two clocks: the cost of reading the CPU clock (research note, finding 8)."""


def is_server_log(table: Table) -> bool:
    """Return whether the required columns of a log are present."""
    return {"start_ns", "end_ns"} <= set(table.names)


def read_server_log(table: Table) -> Log:
    """Read a server's log and check that it is possible.

    Raises
    ------
    UsageError
        A request ends before it starts or starts before it arrives, a thread serves two requests at a time,
        or a CPU time exceeds the wall time. The error names the line.
    """
    names = [n for n in ("arrival_ns", "start_ns", "end_ns", "cpu_ns", "thread") if n in table.names]
    columns = dict(zip(names, table.whole(names), strict=True))
    start, end = columns["start_ns"], columns["end_ns"]
    _refuse(table, end <= start, "end_ns", end, "{}, not after start_ns ({})", start)
    arrival = columns.get("arrival_ns")
    if arrival is not None and not arrival.any():
        arrival = None  # not logged
    if arrival is not None:
        _refuse(table, start < arrival, "start_ns", start, "{}, before arrival_ns ({})", arrival)
    wall = check_times(table, "end_ns - start_ns", 1e-3, (end - start).astype(np.float64))
    cpu = _cpu(table, columns.get("cpu_ns"), wall)
    unknown = (
        ()
        if cpu is not None
        else (Note("no-cpu-times", "interference: the log has no cpu_ns, so service times include it"),)
    )
    order = np.argsort(start, kind="stable")
    thread = number_values(columns["thread"])[1] if "thread" in columns else None
    if thread is not None:
        _overlaps(table, order, start, end, thread)
    kinds, kind = _kinds(table)
    first = int(start.min())

    def sorted_(values: Floats | None) -> Floats | None:
        return None if values is None else values[order]

    def moments(values: Ints | None) -> Floats | None:
        return None if values is None else (values[order] - first) / 1e3

    return Log(
        source=table.source,
        sha256=table.sha256(),
        what="end_ns - start_ns",
        wall_us=wall[order],
        cpu_us=sorted_(cpu),
        start_us=moments(start),
        arrival_us=moments(arrival),
        thread=None if thread is None else thread[order],
        kind=None if kind is None else kind[order],
        kinds=kinds,
        unknown=unknown,
    )


def _refuse(table: Table, bad: np.ndarray, name: str, values: Ints, text: str, others: Ints) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        more = int(bad.sum()) - 1
        raise UsageError(
            "impossible-time",
            f"{table.locate(row)}: {name} is {text.format(values[row], others[row])}"
            + (f"; {more:,} more lines are like it" if more else ""),
            hint="all times of a line must come from one clock: CLOCK_MONOTONIC, in nanoseconds",
            **table.place(row),
            column=name,
            value=int(values[row]),
            others=more,
        )


def _cpu(table: Table, cpu: Ints | None, wall_us: Floats) -> Floats | None:
    """Return CPU times in microseconds; None if they were not logged."""
    if cpu is None or not cpu.any():
        return None
    ratio = float(np.median(cpu)) / float(np.median(wall_us) * 1e3)
    if not 1e-2 < ratio < 50.0:
        raise UsageError(
            "wrong-unit",
            f"{table.path}: the median of cpu_ns is {ratio:.3g} times that of end_ns - start_ns: their units"
            " differ",
            hint="write both in nanoseconds, or leave the column cpu_ns out",
            path=str(table.path),
            column="cpu_ns",
            value=ratio,
        )
    over = cpu > wall_us * 1e3 * 1.02 + SLACK_NS
    if over.mean() > 0.001:
        row = int(np.argmax(over))
        raise UsageError(
            "impossible-time",
            f"{table.locate(row)}: cpu_ns is {cpu[row]}, above end_ns - start_ns ({wall_us[row] * 1e3:.0f});"
            f" {int(over.sum()):,} lines are like it",
            hint="cpu_ns is the time of the one thread that serves: CLOCK_THREAD_CPUTIME_ID",
            **table.place(row),
            column="cpu_ns",
            value=int(cpu[row]),
            most=float(wall_us[row] * 1e3),
            others=int(over.sum()) - 1,
        )
    return np.maximum(cpu, 1) / 1e3


def _overlaps(table: Table, order: Ints, start: Ints, end: Ints, thread: Ints) -> None:
    by_thread = order[np.argsort(thread[order], kind="stable")]
    first, second = by_thread[:-1], by_thread[1:]
    both = (thread[first] == thread[second]) & (start[second] < end[first] - SLACK_NS)
    if both.any():
        place = int(np.argmax(both))
        row, before = int(second[place]), int(first[place])
        raise UsageError(
            "impossible-time",
            f"{table.locate(row)}: start_ns is {start[row]}, but the same thread serves"
            f" {table.row_word} {before + table.first_line} until {end[before]}",
            hint="a thread serves one request at a time: is thread the right column, and all in nanoseconds?",
            **table.place(row),
            column="start_ns",
            value=int(start[row]),
            least=int(end[before]),
        )


def _kinds(table: Table) -> tuple[tuple[str, ...], Ints | None]:
    if "kind" not in table.names:
        return (), None
    names, place = number_values(table.read_words("kind"))
    if len(names) > MOST_KINDS:
        raise UsageError(
            "too-many-kinds",
            f"{table.path}: kind has {len(names):,} different values; at most {MOST_KINDS} are supported",
            hint="leave the column out, or give similar requests one name",
            path=str(table.path),
            column="kind",
            value=len(names),
            most=MOST_KINDS,
        )
    return (names, place) if len(names) > 1 else ((), None)
