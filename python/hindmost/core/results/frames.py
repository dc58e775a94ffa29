"""Estimates and requests as DataFrames of polars or pandas, whichever is installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from hindmost import _engine
from hindmost.core.frames import Library, import_library
from hindmost.core.names import nearest
from hindmost.core.store.measure import Estimate
from hindmost.core.store.older import COLUMNS
from hindmost.errors import StudyError, UsageError

Kept = Literal["samples", "worst"]
NULL = np.iinfo(np.int64).min
"""The value that the engine's reader returns for null."""
NUMBERS = (
    "scheduled_ns",
    "sent_ns",
    "wire_out_ns",
    "wire_in_ns",
    "completed_ns",
    "thread",
    "connection",
    "client_port",
)
WORDS = ("kind", "status")
PLACE = ("part", "run", "client")
"""Origin of a request: the part of the study (``.`` for the study itself), the run, the client."""


def estimate_rows(of: str, estimates: Mapping[str, Estimate]) -> Iterator[dict[str, Any]]:
    """Yield one row per quantile. A figure is infinite if too many requests were never answered."""
    for label, one in estimates.items():
        names = ("value", "low", "high", "runs", "verdict")
        yield {"of": of, "quantile": label} | {name: getattr(one, name) for name in names}


def load_requests(study: Path, kept: Kept, library: Library | None) -> Any:  # noqa: ANN401 (a frame of either)
    """Load the stored requests of all runs: a polars LazyFrame, or what `library` says.

    Raises
    ------
    UsageError
        If `kept` is neither ``samples`` nor ``worst``, or the library is not installed.
    StudyError
        If the study stores no requests.
    """
    if kept not in get_args(Kept):
        raise UsageError(
            "unknown-name",
            f"requests() accepts {' or '.join(get_args(Kept))}, not {kept!r}{nearest(kept, get_args(Kept))}",
            hint='requests("samples") is a uniform sample, requests("worst") the slowest of each run',
            name=kept,
            known=list(get_args(Kept)),
        )
    files = {path: _place(study, path) for path in sorted(study.rglob(f"runs/[0-9]*/{kept}-*.parquet"))}
    if not files:
        raise StudyError(
            "no-requests",
            f"{study} stores no single requests",
            hint="measure(..., samples=20_000) stores that many requests of each run",
            path=str(study),
        )
    if library == "rows":
        return _rows(files)
    polars = import_library(library)
    if polars.__name__ == "pandas":
        return _pandas(polars, files)
    frames = [
        polars.scan_parquet(path).rename(COLUMNS, strict=False).with_columns(**_literals(polars, at))
        for path, at in files.items()
    ]
    late = polars.col("completed_ns") - polars.col("scheduled_ns")
    found = polars.concat(frames).with_columns(latency_us=late / 1e3)
    return found.select(*PLACE, "latency_us", polars.exclude(*PLACE, "latency_us"))


def _place(study: Path, path: Path) -> dict[str, Any]:
    return {
        "part": str(path.parents[2].relative_to(study)),
        "run": int(path.parent.name),
        "client": int(path.stem.rpartition("-")[2]),
    }


def _literals(polars: Any, place: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 (a module)
    return {name: polars.lit(value) for name, value in place.items()}


def _rows(files: Mapping[Path, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for path, place in files.items():
        columns: list[list[Any]] = [
            [None if one == NULL else one for one in np.frombuffer(data, np.int64).tolist()]
            for data in _engine.read_columns(str(path), list(NUMBERS))
        ]
        columns += _engine.read_words(str(path), list(WORDS))
        for values in zip(*columns, strict=True):
            row = dict(zip((*NUMBERS, *WORDS), values, strict=True))
            late = row["completed_ns"] and (row["completed_ns"] - row["scheduled_ns"]) / 1e3
            yield {**place, "latency_us": late, **row}


def _pandas(pandas: Any, files: Mapping[Path, Mapping[str, Any]]) -> Any:  # noqa: ANN401 (a module, a DataFrame)
    """Read with the engine, because pandas would need pyarrow to read Parquet."""
    frames = []
    for path, place in files.items():
        columns: dict[str, Any] = {}
        for name, data in zip(NUMBERS, _engine.read_columns(str(path), list(NUMBERS)), strict=True):
            numbers = np.frombuffer(data, np.int64)
            columns[name] = pandas.array(np.where(numbers == NULL, 0, numbers), dtype="Int64")
            columns[name][numbers == NULL] = pandas.NA
        words = dict(zip(WORDS, _engine.read_words(str(path), list(WORDS)), strict=True))
        frames.append(pandas.DataFrame({**place, **columns, **words}))
    found = pandas.concat(frames, ignore_index=True)
    found.insert(len(PLACE), "latency_us", (found["completed_ns"] - found["scheduled_ns"]) / 1e3)
    return found
