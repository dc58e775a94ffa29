"""Formats of utilisation traces with one row each, and the meaning of their columns.

================  ====================================================================================
format            its rows
================  ====================================================================================
``azure``         no header; time in s, VM, lowest, highest and average CPU in percent (Azure V1, V2)
``alibaba-2017``  no header; time in s, machine, CPU, memory and disk in percent, three load averages
``alibaba-2018``  no header; machine, time in s, CPU in percent, six more numbers
``bitbrains``     a header with ``CPU usage [%]``, fields separated by ``;``; one file per VM, named after it
``columns``       CSV or Parquet with columns ``time`` (s), ``server`` and ``cpu`` (0 to 1) or ``cpu_percent``
================  ====================================================================================

The format of a file is the one whose number of fields, numbers and names match its first line; if none
matches, the file is refused. Parquet files may be uncompressed or compressed with snappy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hindmost import _engine
from hindmost.core.documents import open_table
from hindmost.errors import UsageError

TIMES = ("time", "time_s", "timestamp")
SERVERS = ("server", "vm", "host", "machine")
LOADS = {"cpu": 1.0, "utilisation": 1.0, "utilization": 1.0, "cpu_percent": 0.01, "avg_cpu": 0.01}
"""Names of the utilisation column, with the factor that converts it to shares."""


class Layout(NamedTuple):
    """The columns of a file that contain time, server and load.

    Attributes
    ----------
    format : str
        One of `FORMATS`, or ``parquet``.
    time, server, load : str
        Names of columns, or their numbers from 1; ``file name`` if each file is a server.
    scale : float
        Factor that converts loads to shares.
    columns : dict
        The same for the engine.
    """

    format: str
    time: str
    server: str
    load: str
    scale: float
    columns: dict[str, Any]

    def source(self, path: Path) -> dict[str, Any]:
        """Describe a file of this layout for the engine."""
        return {"path": str(path), "columns": self.columns, "time_scale": 1.0, "load_scale": self.scale}


def layout_of(path: Path, name: str | None = None) -> Layout:
    """Determine the layout of a file.

    Parameters
    ----------
    path : Path
    name : str, optional
        Its format, one of `FORMATS`; by default, determined from its first line.

    Raises
    ------
    UsageError
        The format is unknown, or a column is missing.
    """
    if path.suffix == ".parquet":
        with readable(path):
            time, server, load = _find_columns([one for one, _ in _engine.parquet_columns(str(path))], path)
        columns = {"parquet": {"time": time, "server": server, "load": load}}
        return Layout("parquet", time, server, load, LOADS[load], columns)
    with open_table(path) as file:
        head = file.readline().strip()
    name = name or _format_of(path, head)
    return FORMATS[name].layout(name, path, head)


def _format_of(path: Path, head: str) -> str:
    fields = [field.strip() for field in head.split(",")]
    for name, one in FORMATS.items():
        if one.fits(head, fields):
            return name
    if len(fields) in (19, 20) and all(map(_is_number, fields[:5])):
        raise UsageError(
            "unsupported",
            f"{path} looks like Google's task_usage of 2011, which has a row for each task, not each server",
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


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Convert an error of the engine about a file.

    Raises
    ------
    UsageError
    """
    try:
        yield
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
            hint="use a file with the columns time, server and cpu",
            path=str(path),
        ) from None


def line_of(path: Path, time_s: float) -> int | None:
    """Return the first line of a text file with this time; None for Parquet."""
    if path.suffix == ".parquet":
        return None
    with open_table(path) as file:
        for number, line in enumerate(file, 1):
            if any(_is_number(field) and float(field) == time_s for field in re.split("[,;]", line)[:2]):
                return number
    return None


def _text(
    delimiter: str, skip: int, time: int, server: int | None, load: int, fields: int, name: str
) -> dict[str, Any]:
    text = {"delimiter": delimiter, "skip": skip, "time": time, "server": server, "load": load}
    return {"text": {**text, "fields": fields, "name": name}}


def _by_place(time: int, server: int, percent: int, fields: int) -> Callable[[str, Path, str], Layout]:
    """Make the layout of files without a header from the positions of their fields."""

    def layout(name: str, path: Path, head: str) -> Layout:
        columns = _text(",", 0, time, server, percent, fields, "")
        return Layout(name, str(time + 1), str(server + 1), str(percent + 1), 0.01, columns)

    return layout


def _bitbrains(name: str, path: Path, head: str) -> Layout:
    names = [one.strip() for one in head.split(";")]
    load = "CPU usage [%]"
    if load not in names:
        raise UsageError(
            "bad-file",
            f"{path} has no column {load}; its columns are {', '.join(names)[:200]}",
            hint="give a file of Bitbrains as published",
            path=str(path),
            line=1,
            key=load,
        )
    columns = _text(";", 1, 0, None, names.index(load), 0, path.stem)
    return Layout(name, names[0], "file name", load, 0.01, columns)


def _columns(name: str, path: Path, head: str) -> Layout:
    names = [one.strip().strip('"') for one in head.split(",")]
    time, server, load = _find_columns(names, path)
    columns = _text(",", 1, names.index(time), names.index(server), names.index(load), 0, "")
    return Layout(name, time, server, load, LOADS[load], columns)


def _find_columns(names: list[str], path: Path) -> tuple[str, str, str]:
    """Return the columns of time, server and load."""
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
    """A format: a test on the first line and its fields, and its layout."""

    fits: Callable[[str, list[str]], bool]
    layout: Callable[[str, Path, str], Layout]


def _numbers(fields: Sequence[str], count: int, *places: int) -> bool:
    """Return whether there are `count` fields, with numbers or nothing at these places."""
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
"""Known formats by name."""
