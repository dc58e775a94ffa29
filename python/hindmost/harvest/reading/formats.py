"""Formats of utilisation traces, one function each: file in, readings out.

================  ====================================================================================
format            its rows
================  ====================================================================================
``azure``         no header; time in s, VM, lowest, highest and average CPU in percent (Azure V1, V2)
``alibaba-2017``  no header; time in s, machine, CPU, memory and disk in percent, three load averages
``alibaba-2018``  no header; machine, time in s, CPU in percent, six more numbers
``bitbrains``     a header with ``CPU usage [%]``, fields by ``;``; a file a VM, named after it
``columns``       CSV or Parquet with columns ``time`` (s), ``server`` and ``cpu`` (0 to 1) or ``cpu_percent``
================  ====================================================================================

A file is of the format whose number of fields, numbers and names its first line has; where none fits, it is
refused. Parquet is read where it is compressed by snappy, or not at all.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hindmost.documents import open_table
from hindmost.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

TIMES = ("time", "time_s", "timestamp")
SERVERS = ("server", "vm", "host", "machine")
LOADS = {"cpu": 1.0, "utilisation": 1.0, "utilization": 1.0, "cpu_percent": 0.01, "avg_cpu": 0.01}
"""Columns of utilisation, and what makes shares of them."""


class Readings(NamedTuple):
    """Of one file: moments in s, which server, utilisation as a share; NaN where the file has no number."""

    times: np.ndarray
    of: np.ndarray
    servers: list[str]
    cpu: np.ndarray


def read_file(path: Path, name: str | None = None) -> Readings:
    """Read one file.

    Parameters
    ----------
    path : Path
    name : str, optional
        Its format, one of `FORMATS`; that of its first line where it is not given.

    Raises
    ------
    UsageError
        It has no known format, or a row is not of it; with the line.
    """
    if path.suffix == ".parquet":
        return _parquet(path)
    return (FORMATS[name] if name else _format_of(path)).read(path)


def line_of(path: Path, time_s: float) -> int | None:
    """The first line of a file, or row of a Parquet file, with this time."""
    if path.suffix == ".parquet":
        return int((_parquet(path).times == time_s).argmax()) + 1
    with open_table(path) as file:
        for number, line in enumerate(file, 1):
            if any(_number(field.strip()) == time_s for field in re.split("[,;]", line)[:2]):
                return number
    return None


def _format_of(path: Path) -> Format:
    with open_table(path) as file:
        head = file.readline().strip()
    fields = [field.strip() for field in head.split(",")]
    for one in FORMATS.values():
        if one.fits(head, fields):
            return one
    if len(fields) in (19, 20) and all(map(_is_number, fields[:5])):
        raise UsageError(
            "unsupported",
            f"{path} looks like Google's task_usage of 2011: a row for each task, not for each server",
            hint="add up the CPU rates of a machine's tasks, and write time,server,cpu",
            path=str(path),
            line=1,
            known=list(FORMATS),
        )
    raise UsageError(
        "bad-file",
        f"{path} is not a trace in a known format: its first line is {head[:80]!r}",
        hint=f"use the columns time,server,cpu (0 to 1), or name its format: --format {', '.join(FORMATS)}",
        path=str(path),
        line=1,
        value=head[:80],
        known=list(FORMATS),
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str) -> float:
    """A reading that is no number is missing, not wrong: collectors write NA, null, nothing."""
    return float(text) if _is_number(text) else math.nan


def _gathered(rows: Iterable[tuple[int, str, str, float]], path: Path) -> Readings:
    """Readings of rows: their line, time, server and load.

    Raises
    ------
    UsageError
        If a time is not a number; names the line.
    """
    import numpy as np

    number: dict[str, int] = {}
    times, of, cpu = [], [], []
    for line, time, server, load in rows:
        if not math.isfinite(at := _number(time)):
            raise UsageError(
                "bad-file",
                f"{path}:{line}: the time {time[:40]!r} is not a number of seconds",
                hint="write times in seconds, or correct the line",
                path=str(path),
                line=line,
                key="time",
                value=time[:40],
            )
        times.append(at)
        of.append(number.setdefault(server, len(number)))
        cpu.append(load)
    found = Readings(np.array(times), np.array(of, dtype=np.int64), list(number), np.array(cpu))
    return _checked(found, path)


def _checked(found: Readings, path: Path) -> Readings:

    if not len(found.times):
        raise UsageError(
            "few-readings", f"{path} has no readings", hint="check the file", path=str(path), have=0
        )
    return found


def _rows(path: Path, fields: int) -> Iterator[tuple[int, list[str]]]:
    """Rows with their lines; a torn last line, which has fewer fields, is left out.

    Raises
    ------
    UsageError
        If a row before the last has fewer fields; names the line.
    """
    with open_table(path) as file:
        table = csv.reader(file)
        torn = 0
        try:
            for row in table:
                if torn:
                    raise UsageError(
                        "bad-file",
                        f"{path}:{torn} has fewer than {fields} fields",
                        hint="correct or remove the line",
                        path=str(path),
                        line=torn,
                        need=fields,
                    )
                if len(row) >= fields:
                    yield table.line_num, row
                elif row:
                    torn = table.line_num
        except csv.Error as error:
            raise UsageError(
                "bad-file",
                f"{path}:{table.line_num}: {error}",
                hint="correct or remove the line",
                path=str(path),
                line=table.line_num,
            ) from None


def _by_place(time: int, server: int, percent: int, fields: int) -> Callable[[Path], Readings]:
    """A reader of files without a header, by the places of their fields."""

    def read(path: Path) -> Readings:
        rows = _rows(path, fields)
        return _gathered(
            ((at, row[time], row[server], 0.01 * _number(row[percent])) for at, row in rows), path
        )

    return read


def _bitbrains(path: Path) -> Readings:
    def rows() -> Iterator[tuple[int, str, str, float]]:
        with open_table(path) as file:
            names = [name.strip() for name in file.readline().split(";")]
            if "CPU usage [%]" not in names:
                raise UsageError(
                    "bad-file",
                    f"{path} has no column CPU usage [%]; its columns are {', '.join(names)[:200]}",
                    hint="give a file of Bitbrains as published",
                    path=str(path),
                    line=1,
                    key="CPU usage [%]",
                )
            column = names.index("CPU usage [%]")
            for at, line in enumerate(file, 2):
                fields = line.split(";")
                if len(fields) > column:
                    yield at, fields[0].strip(), path.stem, 0.01 * _number(fields[column].strip())

    return _gathered(rows(), path)


def _columns(path: Path) -> Readings:
    rows = _rows(path, 1)
    names = [name.strip() for name in next(rows)[1]]
    time, server, load = _named(names, path)
    at = [names.index(name) for name in (time, server, load)]
    scale = LOADS[load]
    read = (
        (line, row[at[0]], row[at[1]], scale * _number(row[at[2]]))
        for line, row in rows
        if len(row) > max(at)
    )
    return _gathered(read, path)


def _parquet(path: Path) -> Readings:
    import numpy as np

    from hindmost import _engine

    try:
        time, server, load = _named([name for name, _ in _engine.parquet_columns(str(path))], path)
        reals = [np.frombuffer(one) for one in _engine.read_reals(str(path), [time, load])]
        words = _engine.read_words(str(path), [server])[0]
    except _engine.EngineError as error:
        told = str(error.args[1])  # begins with the path
        if packed := re.search(r"Disabled feature at compile time: (\w+)", told):
            raise UsageError(
                "unsupported",
                f"{path} is compressed with {packed[1]}; only snappy and uncompressed files can be read",
                hint='import polars; polars.read_parquet(OLD).write_parquet(NEW, compression="snappy")',
                path=str(path),
                value=packed[1],
                known=["snappy", "uncompressed"],
            ) from None
        raise UsageError(
            "bad-file",
            told,
            hint="use a Parquet file with the columns time, server and cpu",
            path=str(path),
        ) from None
    servers, of = np.unique(np.array(words), return_inverse=True)
    return _checked(Readings(reals[0], of, [str(name) for name in servers], LOADS[load] * reals[1]), path)


def _named(names: list[str], path: Path) -> tuple[str, str, str]:
    """The columns of time, server and load."""
    found = []
    for what, known in (("time", TIMES), ("server", SERVERS), ("load", tuple(LOADS))):
        there = [name for name in known if name in names]
        if not there:
            raise UsageError(
                "bad-file",
                f"{path} has no {what} column; its columns are {', '.join(names)}",
                hint=f"name the {what} column one of {', '.join(known)}",
                path=str(path),
                key=what,
                value=names,
                known=list(known),
            )
        found.append(there[0])
    return found[0], found[1], found[2]


class Format(NamedTuple):
    """What tells a format by its first line and that line's fields, and its reader."""

    fits: Callable[[str, list[str]], bool]
    read: Callable[[Path], Readings]


def _numbers(fields: Sequence[str], count: int, *places: int) -> bool:
    """Whether there are so many fields, and numbers or nothing at these places."""
    return len(fields) == count and all(not fields[at] or _is_number(fields[at]) for at in places)


FORMATS = {
    "azure": Format(
        lambda _, fields: _numbers(fields, 5, 0, 2, 3, 4) and not _is_number(fields[1]),
        _by_place(0, 1, 4, 5),
    ),
    "alibaba-2017": Format(
        lambda _, fields: (
            _numbers(fields, 8, *range(2, 8)) and fields[0].isdecimal() and fields[1].isdecimal()
        ),
        _by_place(0, 1, 2, 8),
    ),
    "alibaba-2018": Format(
        lambda _, fields: _numbers(fields, 9, *range(1, 9)) and not _is_number(fields[0]),
        _by_place(1, 0, 2, 9),
    ),
    "bitbrains": Format(lambda head, _: "CPU usage [%]" in head and ";" in head, _bitbrains),
    "columns": Format(lambda _, fields: any(name in fields for name in TIMES), _columns),
}
"""The registry."""
