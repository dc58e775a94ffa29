"""A DataFrame of pandas or polars, or an array, as columns of numbers; recognised by its methods."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hindmost.commands.clone.fit.bins import Floats, Ints
from hindmost.commands.clone.fit.reading.table import Table
from hindmost.errors import UsageError

TIMES = "service"
"""Name of the only column of an array."""


@dataclass(frozen=True)
class FrameTable(Table):
    """Columns in memory; rows are numbered from 0, as in DataFrames."""

    columns: dict[str, npt.NDArray[Any]] = field(repr=False)
    row_word = "row"

    def sha256(self) -> str:
        """Return the digest of names and values, column by column."""
        found = hashlib.sha256()
        for name, values in self.columns.items():
            found.update(name.encode())
            found.update(values.astype("U32").tobytes() if values.dtype == object else values.tobytes())
        return found.hexdigest()

    def whole(self, names: Sequence[str]) -> list[Ints]:
        """Return columns of whole numbers."""
        return [self._whole(name) for name in names]

    def _whole(self, name: str) -> Ints:
        values = self.columns[name]
        if values.dtype.kind in "iu":
            return np.ascontiguousarray(values, dtype=np.int64)
        if values.dtype.kind in "mM":
            return np.ascontiguousarray(values.astype(f"{values.dtype.kind}8[ns]").astype(np.int64))
        reals = self.real(name)
        wrong = ~(np.isfinite(reals) & (reals == np.round(reals)))
        if wrong.any():
            row = int(np.argmax(wrong))
            value = float(reals[row])
            raise UsageError(
                "bad-value",
                f"{self.locate(row)}: {name} is {value:g}, which is not a whole number",
                **self.place(row),
                column=name,
                value=value if math.isfinite(value) else str(value),
            )
        return reals.astype(np.int64)

    def real(self, name: str) -> Floats:
        """Return a column of numbers of any type."""
        values = self.columns[name]
        if values.dtype.kind not in "iuf":
            try:
                return np.asarray([float("nan") if one is None else one for one in values], dtype=np.float64)
            except (TypeError, ValueError):
                raise UsageError(
                    "bad-value",
                    f"{self.path}: column {name} contains {values.dtype}, not numbers",
                    path=str(self.path),
                    column=name,
                    value=str(values.dtype),
                ) from None
        return np.asarray(values, dtype=np.float64)

    def read_words(self, name: str) -> npt.NDArray[np.generic]:
        """Return a column of strings."""
        return np.asarray(self.columns[name].astype("U32"))


def is_frame(source: object) -> bool:
    """Return whether the source is a DataFrame, a series or an array, not a path."""
    return hasattr(source, "columns") or hasattr(source, "to_numpy") or isinstance(source, np.ndarray)


def frame_table(source: Any) -> FrameTable:  # noqa: ANN401 (a DataFrame of any library)
    """Read the columns of a DataFrame, or the only one of a series or an array.

    Raises
    ------
    UsageError
        An array has several columns, which have no names; or there are no rows.
    """
    what = f"the {type(source).__name__}"
    if hasattr(source, "columns"):
        columns = {str(name): np.asarray(source[name].to_numpy()) for name in source.columns}
    else:
        values = np.asarray(source.to_numpy() if hasattr(source, "to_numpy") else source)
        if values.ndim != 1:
            raise UsageError(
                "bad-argument",
                f"{what} has shape {values.shape}, and its columns have no names",
                hint="give a DataFrame, with the columns start_ns and end_ns; or one column:"
                ' read_log(x[:, 0], unit="us")',
                argument="source",
                value=list(values.shape),
            )
        columns = {str(getattr(source, "name", None) or TIMES): values}
    if not columns or not next(iter(columns.values())).size:
        raise UsageError(
            "short-log",
            f"{what} has {len(columns)} columns and no rows",
            hint="at least 2,000 requests are needed",
            have=0,
            need=2_000,
        )
    return FrameTable(Path(what), tuple(columns), 0, columns)
