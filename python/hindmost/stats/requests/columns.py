"""Checks of what users pass to an estimator: tables, columns, weights, and rows that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hindmost.errors import ArgumentError
from hindmost.stats.tables import Floats


def read_table(X: Any) -> Floats:  # noqa: ANN401
    """Return a table of finite numbers as an array of two dimensions."""
    try:
        x = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError("bad-argument", f"X must hold numbers: {error}", argument="X") from error
    if x.ndim != 2:
        raise ArgumentError(
            "bad-argument",
            f"X must have two dimensions, got shape {x.shape}; for one column X.reshape(-1, 1)",
            argument="X",
        )
    if not np.isfinite(x).all():
        row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(x)))
        name = column_names(X)[column : column + 1] or [str(column)]
        raise ArgumentError(
            "bad-argument",
            f"X[{row}, {name[0]}] is {x[row, column]}, but must be a finite number",
            argument="X",
            line=row,
            column=column,
            name=name[0],
        )
    return x


def read_weights(values: npt.ArrayLike, rows: int) -> Floats:
    """Return weights, none of them negative."""
    weights = read_column("sample_weight", values, rows)
    if (weights < 0.0).any():
        place = int(np.argmin(weights))
        raise ArgumentError(
            "bad-argument",
            f"sample_weight[{place}] is {weights[place]:g}, but must not be negative",
            argument="sample_weight",
            line=place,
            value=float(weights[place]),
        )
    return weights


def column_names(X: Any) -> list[str]:  # noqa: ANN401
    """Return the names of a data frame's columns; none for an array."""
    return [str(name) for name in getattr(X, "columns", ())]


def refuse_misaligned(X: Any, argument: str, values: Any) -> None:  # noqa: ANN401
    """Refuse values that pandas would align by index, because rows are matched by position."""
    ours, theirs = getattr(X, "index", None), getattr(values, "index", None)
    equals = getattr(ours, "equals", None)  # the method `index` of lists is not an index
    if equals is not None and hasattr(theirs, "equals") and not equals(theirs):
        raise ArgumentError(
            "bad-argument",
            f"{argument} has a different index than X, but rows are matched by position",
            hint=f"{argument}.loc[X.index]",
            argument=argument,
        )


def read_column(name: str, values: npt.ArrayLike, rows: int) -> Floats:
    """Return a column of finite numbers, one for each row."""
    column = np.ascontiguousarray(values, dtype=np.float64)
    if column.shape != (rows,):
        raise ArgumentError(
            "bad-argument", f"{name} must have shape ({rows},), got {column.shape}", argument=name
        )
    if not np.isfinite(column).all():
        place = int(np.argmin(np.isfinite(column)))
        raise ArgumentError(
            "bad-argument",
            f"{name}[{place}] is {column[place]}, but must be a finite number",
            argument=name,
            line=place,
        )
    return column
