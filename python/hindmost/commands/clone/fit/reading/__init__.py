"""Reading logs of servers, tables of times, and studies into a `Log`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hindmost.commands.clone.fit.reading.checks import check_log, check_times
from hindmost.commands.clone.fit.reading.frame import frame_table, is_frame
from hindmost.commands.clone.fit.reading.log import UNITS, Log, combine_digests, join_logs
from hindmost.commands.clone.fit.reading.saturation import is_saturated, read_pair, scheduled_rate
from hindmost.commands.clone.fit.reading.server_log import is_server_log, read_server_log
from hindmost.commands.clone.fit.reading.study import read_study
from hindmost.commands.clone.fit.reading.table import Table, open_table
from hindmost.core.notes import Note
from hindmost.errors import UsageError

__all__ = ["UNITS", "Log", "Source", "as_logs", "combine_digests", "join_logs", "read_log", "read_logs"]


Source = str | Path | Any
"""A path, a DataFrame of pandas or polars, a series, or an array with one column."""


def as_logs(sources: Sequence[Log | Source]) -> tuple[tuple[Log, ...], Path | None]:
    """Read the sources that are not logs yet; see `read_logs` for the second result."""
    if not sources:
        raise UsageError(
            "missing-argument",
            "there is no log to fit",
            hint='fit_clone("server.csv"), or fit_clone(read_log(frame))',
            argument="sources",
        )
    paths = [Path(one) for one in sources if isinstance(one, (str, Path))]
    read, way = read_logs(paths) if paths else ([], None)
    rest = [
        one if isinstance(one, Log) else read_log(one) for one in sources if not isinstance(one, (str, Path))
    ]
    return (*read, *rest), way


def read_logs(
    paths: Sequence[Path], column: str | None = None, unit: str | None = None
) -> tuple[list[Log], Path | None]:
    """Read logs; also return the study that shows the network and wake-up time, if there is one.

    For a server without a log, a study at low load and a saturated study together make one log. A third one,
    at half load, shows how much service times scatter. If logs are given, a study at low load shows the
    network and wake-up time.

    Raises
    ------
    UsageError
        As for `read_log`; or a saturated study is given alone or together with logs.
    """
    saturated = [path for path in paths if path.is_dir() and is_saturated(path)]
    if not saturated:
        studies = [path for path in paths if path.is_dir()]
        logs = [path for path in paths if not path.is_dir()]
        if logs and len(studies) > 1:
            raise UsageError(
                "wrong-sources",
                f"{len(studies)} studies are given with logs; give one study, at low load",
                hint=f"hindmost clone fit {' '.join(map(str, logs))} {studies[0]}",
                have=len(studies),
                most=1,
            )
        way = studies[0] if logs and studies else None
        return [read_log(path, column, unit) for path in (logs or studies)], way
    low = [path for path in paths if path not in saturated]
    if len(saturated) != 1 or not 1 <= len(low) <= 2 or not all(path.is_dir() for path in low):
        raise UsageError(
            "wrong-sources",
            f"{saturated[0]} is a closed-loop study: give it with one study at low load, and with one at half"
            f" load if you have it; {len(paths)} logs and studies are given",
            hint="hindmost clone fit LOW-STUDY SATURATED-STUDY HALF-LOAD-STUDY",
            path=str(saturated[0]),
            have=len(paths),
            least=2,
            most=3,
        )
    low.sort(key=scheduled_rate)
    return [check_log(read_pair(low[0], saturated[0], low[1] if low[1:] else None))], None


def read_log(source: Source, column: str | None = None, unit: str | None = None) -> Log:
    """Read a log.

    Parameters
    ----------
    source : str, Path, DataFrame, or array of shape (n,)
        A server's log or any table of times, as CSV, Parquet or a DataFrame (pandas, polars); a study's
        folder; or only the times, which then need a unit.
    column : str, optional
        The column of times; a server's log needs none.
    unit : str, optional
        ``ns``, ``us``, ``ms`` or ``s``, if the column's name does not end with it.

    Raises
    ------
    UsageError
        There is no such file or column, or it contains impossible values; names line and value.

    Examples
    --------
    >>> import numpy as np
    >>> times = np.random.default_rng(1).lognormal(4.0, 0.5, 5_000)
    >>> read_log(times, unit="us").n
    5000
    """
    if is_frame(source):
        table: Table = frame_table(source)
    elif not isinstance(source, (str, Path)):
        raise UsageError(
            "bad-argument",
            f"a log is a path, a DataFrame or an array of times, not {type(source).__name__}",
            hint='read_log("server.csv"), or read_log(frame)',
            argument="source",
            value=type(source).__name__,
        )
    elif Path(source).is_dir():
        return check_log(read_study(Path(source)))
    else:
        table = open_table(Path(source))
    if column is None and is_server_log(table):
        return check_log(read_server_log(table))
    name = _column(table, column)
    us = check_times(table, name, _unit(table, name, unit), table.real(name))
    unknown = (
        Note(
            "times-only",
            "pauses, load dependence, threads and kinds of request: the log has service times alone",
        ),
    )
    return check_log(Log(table.source, table.sha256(), name, us, unknown=unknown))


def _column(table: Table, column: str | None) -> str:
    known = ", ".join(table.names)
    if column is not None:
        if column in table.names:
            return column
        near = difflib.get_close_matches(column, table.names, n=1)
        maybe = f" (did you mean {near[0]}?)" if near else ""
        raise UsageError(
            "unknown-name",
            f"{table.path} has no column {column}{maybe}; its columns: {known}",
            hint=f"hindmost clone fit {table.path} --column {near[0] if near else table.names[0]}",
            option="--column",
            path=str(table.path),
            value=column,
            known=list(table.names),
            nearest=near[0] if near else None,
        )
    if len(table.names) == 1:
        return table.names[0]
    raise UsageError(
        "missing-argument",
        f"{table.path} is not a server's log (it lacks start_ns or end_ns), so name the column of service"
        f" times; its columns: {known}",
        hint=f"hindmost clone fit {table.path} --column NAME",
        option="--column",
        path=str(table.path),
        known=list(table.names),
    )


def _unit(table: Table, name: str, unit: str | None) -> float:
    said = name.rpartition("_")[2] if "_" in name else None
    if unit is not None:
        if unit not in UNITS:
            raise UsageError(
                "unknown-name",
                f"--unit {unit} is not one of {', '.join(UNITS)}",
                option="--unit",
                value=unit,
                known=list(UNITS),
            )
        return UNITS[unit]
    if said in UNITS:
        return UNITS[said]
    raise UsageError(
        "missing-argument",
        f"{table.path}: the unit of column {name} is unknown: its name does not end with _ns, _us, _ms or _s",
        hint=f"hindmost clone fit {table.path} --column {name} --unit us",
        option="--unit",
        path=str(table.path),
        column=name,
    )
