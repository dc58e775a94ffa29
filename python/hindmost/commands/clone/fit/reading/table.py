"""CSV and Parquet files as columns of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hindmost import _engine
from hindmost.commands.clone.fit.bins import Floats, Ints
from hindmost.commands.clone.fit.reading.log import digest
from hindmost.core.documents import is_name
from hindmost.errors import UsageError

HEAD = 1 << 16
"""Bytes of a text file that are searched for the header."""

NULL = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Table:
    """A file whose columns can be read.

    Parameters
    ----------
    path : Path
        The file.
    names : tuple of str
        Its columns.
    first_line : int
        Line number of the first row of a text file; Parquet rows are numbered from 1.
    """

    path: Path
    names: tuple[str, ...]
    first_line: int

    def locate(self, row: int) -> str:
        """Name a row for messages."""
        return f"{self.path}, {self.row_word} {row + self.first_line}"

    def place(self, row: int) -> dict[str, Any]:
        """Return the row as fields of an error."""
        return {"path": str(self.path), self.row_word: row + self.first_line}

    row_word = "line"

    @property
    def source(self) -> str:
        """Name of the source."""
        return str(self.path)

    def sha256(self) -> str:
        """Return the digest of the file."""
        return digest(self.path)

    def whole(self, names: Sequence[str]) -> list[Ints]:
        """Columns of whole numbers."""
        raise NotImplementedError

    def real(self, name: str) -> Floats:
        """A column of numbers of any sort."""
        raise NotImplementedError

    def read_words(self, name: str) -> npt.NDArray[np.generic]:
        """A column of texts."""
        raise NotImplementedError


@dataclass(frozen=True)
class TextTable(Table):
    """A text file with numbers between commas, semicolons, tabs or spaces."""

    delimiter: str | None

    def _load(self, places: list[int], dtype: Any) -> npt.NDArray[Any]:  # noqa: ANN401 (numpy's)
        try:
            return np.loadtxt(
                self.path,
                dtype=dtype,
                delimiter=self.delimiter,
                comments=None,
                quotechar='"',
                skiprows=self.first_line - 1,
                usecols=places,
                ndmin=2,
                encoding="utf-8-sig",
            )
        except UnicodeDecodeError:
            raise _not_text_error(self.path) from None
        except ValueError as error:
            raise self._explain(str(error), places) from None

    def _explain(self, text: str, places: list[int]) -> UsageError:
        found = re.match(r"could not convert string '(.*)' to \w+ at row (\d+), column (\d+)", text)
        if found:
            name = self.names[int(found[3]) - 1]
            value = f"`{found[1]}`" if found[1].strip() else "empty"
            return UsageError(
                "bad-value",
                f"{self.locate(int(found[2]))}: {name} is {value}, which is not a number",
                **self.place(int(found[2])),
                column=name,
                value=found[1],
            )
        found = re.search(r"invalid column index \d+ at row (\d+) with (\d+) columns", text)
        if found:
            return UsageError(
                "bad-file",
                f"{self.locate(int(found[1]) - 1)}: it has {found[2]} columns, but the first line has"
                f" {len(self.names)}",
                **self.place(int(found[1]) - 1),
                have=int(found[2]),
                need=len(self.names),
            )
        return UsageError("bad-file", f"{self.path}: {text}", path=str(self.path))

    def whole(self, names: Sequence[str]) -> list[Ints]:
        """Columns of whole numbers."""
        found = self._load([self.names.index(name) for name in names], np.int64)
        return [np.ascontiguousarray(found[:, place]) for place in range(len(names))]

    def real(self, name: str) -> Floats:
        """A column of numbers of any sort."""
        return np.asarray(self._load([self.names.index(name)], np.float64)[:, 0])

    def read_words(self, name: str) -> npt.NDArray[np.generic]:
        """A column of texts."""
        return np.asarray(self._load([self.names.index(name)], "U32")[:, 0])


@dataclass(frozen=True)
class ParquetTable(Table):
    """A Parquet file without nested columns."""

    sorts: dict[str, str]
    row_word = "row"

    def whole(self, names: Sequence[str]) -> list[Ints]:
        """Columns of whole numbers."""
        for name in names:
            if self.sorts[name] != "whole":
                raise self._wrong_type(name, "whole numbers")
        found = _call_engine(self.path, lambda: _engine.read_columns(str(self.path), list(names)))
        columns = [np.frombuffer(column, dtype=np.int64) for column in found]
        for name, column in zip(names, columns, strict=True):
            if (column == NULL).any():
                row = int(np.argmax(column == NULL))
                raise UsageError(
                    "bad-value",
                    f"{self.locate(row)}: {name} is null",
                    **self.place(row),
                    column=name,
                    value=None,
                )
        return columns

    def real(self, name: str) -> Floats:
        """A column of numbers of any sort."""
        if self.sorts[name] not in ("whole", "real"):
            raise self._wrong_type(name, "numbers")
        return np.frombuffer(_call_engine(self.path, lambda: _engine.read_reals(str(self.path), [name]))[0])

    def read_words(self, name: str) -> npt.NDArray[np.generic]:
        """A column of texts."""
        if self.sorts[name] != "words":
            return self.real(name)
        return np.array(_call_engine(self.path, lambda: _engine.read_words(str(self.path), [name]))[0])

    def _wrong_type(self, name: str, need: str) -> UsageError:
        return UsageError(
            "bad-value",
            f"{self.path}: column {name} does not contain {need}",
            path=str(self.path),
            column=name,
            value=self.sorts[name],
            need=need,
        )


def open_table(path: Path) -> Table:
    """Open a CSV or Parquet file and find its columns.

    Raises
    ------
    UsageError
        There is no such file, it is empty, or it is neither CSV nor Parquet.
    """
    if not path.is_file():
        raise UsageError(
            "no-such-file",
            f"there is no log {path}",
            hint="hindmost clone fit LOG.csv, or a study's folder, or clone.parquet",
            path=str(path),
        )
    if path.stat().st_size == 0:
        raise UsageError("bad-file", f"{path} is empty", hint=f"ls -l {path}", path=str(path), size=0)
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head.startswith(b"PAR1"):
        sorts = dict(_call_engine(path, lambda: _engine.parquet_columns(str(path))))
        return ParquetTable(path, tuple(sorts), 1, sorts)
    if b"\0" in head:
        raise _not_text_error(path)
    line = head.decode("utf-8-sig", errors="replace").splitlines()[0].strip()
    delimiter = next((mark for mark in (",", ";", "\t") if mark in line), None)
    cells = [cell.strip().strip('"') for cell in (line.split(delimiter) if delimiter else line.split())]
    if not any(map(is_name, cells)):
        return TextTable(path, tuple(str(place + 1) for place in range(len(cells))), 1, delimiter)
    return TextTable(path, tuple(cells), 2, delimiter)


def _not_text_error(path: Path) -> UsageError:
    return UsageError(
        "bad-file",
        f"{path} is neither text nor Parquet",
        hint="a CSV file with a header, such as: service_us",
        path=str(path),
    )


def _call_engine(path: Path, ask: Any) -> Any:  # noqa: ANN401 (each caller knows)
    try:
        return ask()
    except _engine.EngineError as error:
        text = str(error.args[1])
        if "compress" in text.lower() or "disabled" in text.lower():
            raise UsageError(
                "unsupported",
                text,
                hint='compress it with "snappy", or not at all: df.write_parquet(..., compression="snappy")',
                path=str(path),
                known=["uncompressed", "snappy"],
            ) from None
        raise UsageError("bad-file", text, path=str(path)) from None
