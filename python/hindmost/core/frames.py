"""Rows as a DataFrame of whichever library is installed, imported only when needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

from hindmost.errors import UsageError

LIBRARIES = ("polars", "pandas", "rows")


def frame(
    rows: Sequence[Mapping[str, Any]],
    library: Literal["polars", "pandas", "rows"] | None = None,
    columns: Sequence[str] = (),
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
    if library is not None and library not in LIBRARIES:
        raise UsageError(
            "unknown-name",
            f"{library!r} is not a library of DataFrames",
            hint=f"one of {', '.join(LIBRARIES)}",
            value=library,
            known=list(LIBRARIES),
        )
    if library == "rows":
        return [dict(row) for row in rows]
    names = list(dict.fromkeys(columns if not rows else (name for row in rows for name in row)))
    values = {name: [row.get(name) for row in rows] for name in names}
    for name in LIBRARIES[:2] if library is None else (library,):
        try:
            module = import_module(name)
        except ImportError:
            continue
        return module.DataFrame(values, strict=False) if name == "polars" else module.DataFrame(values)
    raise UsageError(
        "missing-library",
        f"{library or 'neither polars nor pandas'} is {'not ' if library else ''}installed",
        hint=f"pip install {library or 'polars'}",
        name=library or "polars",
    )
