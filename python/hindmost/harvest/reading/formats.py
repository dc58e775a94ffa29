"""Formats of utilisation traces, one function each: file in, readings out.

=============  ====================================================================================
format         told by
=============  ====================================================================================
``azure``      no header; time in s, VM, lowest, highest and average CPU in percent (Azure V1, V2)
``bitbrains``  a header with ``CPU usage [%]``, fields by ``;``; a file a VM, named after it
``columns``    CSV or Parquet with columns ``time`` (s), ``server`` and ``cpu`` (0 to 1) or ``cpu_percent``
=============  ====================================================================================

Parquet is read where it is compressed by snappy, or not at all.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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


def read_file(path: Path) -> Readings:
    """Read one file in the format that its first line tells."""
    if path.suffix == ".parquet":
        return _parquet(path)
    with path.open(encoding="utf-8", errors="replace") as file:
        head = file.readline()
    for told, read in FORMATS:
        if told(head):
            return read(path)
    raise UsageError(
        "bad-file",
        f"{path} is not a trace: its first line is {head.strip()[:80]!r}",
        hint="use the columns time,server,cpu (0 to 1), or files of Azure or Bitbrains as published",
        path=str(path),
        line=1,
        value=head.strip()[:80],
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


def _gathered(rows: Iterator[tuple[str, str, float]], path: Path) -> Readings:
    import numpy as np

    number: dict[str, int] = {}
    times, of, cpu = [], [], []
    for time, server, load in rows:
        times.append(_number(time))
        of.append(number.setdefault(server, len(number)))
        cpu.append(load)
    found = Readings(np.array(times), np.array(of, dtype=np.int64), list(number), np.array(cpu))
    return _checked(found, path)


def _checked(found: Readings, path: Path) -> Readings:
    import numpy as np

    if not len(found.times):
        raise UsageError(
            "few-readings", f"{path} has no readings", hint="check the file", path=str(path), have=0
        )
    wrong = np.flatnonzero(~np.isfinite(found.times))
    if len(wrong):
        raise UsageError(
            "bad-file",
            f"{path}: {len(wrong)} of {len(found.times)} times are not numbers of seconds",
            hint="write times in seconds",
            path=str(path),
            key="time",
            wrong=len(wrong),
        )
    return found


def _azure(path: Path) -> Readings:
    def rows() -> Iterator[tuple[str, str, float]]:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                if len(row) > 4:  # a torn last line has fewer
                    yield row[0], row[1], 0.01 * _number(row[4])

    return _gathered(rows(), path)


def _bitbrains(path: Path) -> Readings:
    def rows() -> Iterator[tuple[str, str, float]]:
        with path.open(encoding="utf-8", newline="") as file:
            names = [name.strip() for name in file.readline().split(";")]
            column = names.index("CPU usage [%]")
            for line in file:
                fields = line.split(";")
                if len(fields) > column:
                    yield fields[0].strip(), path.stem, 0.01 * _number(fields[column].strip())

    return _gathered(rows(), path)


def _columns(path: Path) -> Readings:
    with path.open(encoding="utf-8", newline="") as file:
        table = csv.reader(file)
        names = [name.strip() for name in next(table)]
        time, server, load = _named(names, path)
        at = [names.index(name) for name in (time, server, load)]
        scale = LOADS[load]

        def rows() -> Iterator[tuple[str, str, float]]:
            for row in table:
                if len(row) > max(at):
                    yield row[at[0]], row[at[1]], scale * _number(row[at[2]])

        return _gathered(rows(), path)


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


FORMATS: tuple[tuple[Callable[[str], bool], Callable[[Path], Readings]], ...] = (
    (lambda head: "CPU usage [%]" in head and ";" in head, _bitbrains),
    (lambda head: head.count(",") >= 4 and _is_number(head.split(",")[0]), _azure),
    (lambda head: any(name in [part.strip() for part in head.split(",")] for name in TIMES), _columns),
)
"""The registry: what tells a format by its first line, and its reader."""
