"""Rows as a DataFrame of whichever library is installed, imported only when needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Literal, get_args

from hindmost.errors import UsageError

Library = Literal["polars", "pandas", "rows"]
"""``rows``: lists of dictionaries, which need no library."""


def frame(
    rows: Sequence[Mapping[str, Any]], library: Library | None = None, columns: Sequence[str] = ()
) -> Any:  # noqa: ANN401 (a DataFrame of either)
    """Make a DataFrame.

    Parameters
    ----------
    rows
        One mapping per row; missing values are null.
    library
        Which library; by default, the first that is installed. ``rows`` is a list of dictionaries.
    columns
        Columns to create even if there are no rows.

    Raises
    ------
    UsageError
        The library is unknown or not installed.
    """
    if library == "rows":
        return [dict(row) for row in rows]
    names = list(dict.fromkeys(columns if not rows else (name for row in rows for name in row)))
    values = {name: [row.get(name) for row in rows] for name in names}
    module = import_library(library)
    return module.DataFrame(values, **({"strict": False} if module.__name__ == "polars" else {}))


def import_library(library: Library | None) -> Any:  # noqa: ANN401 (a module)
    """Import polars or pandas: the library, or the first that is installed.

    Raises
    ------
    UsageError
        The library is unknown or not installed.
    """
    known = get_args(Library)
    if library is not None and library not in known:
        raise UsageError(
            "unknown-name",
            f"{library!r} is not a library of DataFrames",
            hint=f"one of {', '.join(known)}",
            value=library,
            known=list(known),
        )
    for name in known[:2] if library is None else (library,):
        with suppress(ImportError):
            return import_module(name)
    raise UsageError(
        "missing-library",
        f"{library or 'neither polars nor pandas'} is {'not ' if library else ''}installed",
        hint=f"pip install 'hindmost[{library or 'polars'}]'",
        name=library or "polars",
    )
