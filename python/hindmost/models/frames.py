"""Rows as a DataFrame of whichever library is installed; imported when somebody asks for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

from hindmost.errors import UsageError

LIBRARIES = ("polars", "pandas")


def frame(rows: Sequence[Mapping[str, Any]], library: Literal["polars", "pandas"] | None = None) -> Any:  # noqa: ANN401 (a DataFrame of either)
    """Give a DataFrame.

    Parameters
    ----------
    rows
        One mapping a row; what a row lacks is null.
    library
        Which library; the first that is installed otherwise.

    Raises
    ------
    UsageError
        It is none of the two, or not installed.
    """
    if library is not None and library not in LIBRARIES:
        raise UsageError(f"{library!r} makes no DataFrames", hint=f"one of {', '.join(LIBRARIES)}")
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    for name in LIBRARIES if library is None else (library,):
        try:
            module = import_module(name)
        except ImportError:
            continue
        return module.DataFrame(columns, strict=False) if name == "polars" else module.DataFrame(columns)
    raise UsageError(
        f"{library or 'neither polars nor pandas'} is {'not ' if library else ''}installed",
        hint=f"pip install {library or 'polars'}",
    )
