"""`hindmost.open_study` and `hindmost.list_studies`: stored studies for Python users."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from hindmost.commands.study.document import StudyEntry
from hindmost.core.frames import Library, frame
from hindmost.core.results.result import Result
from hindmost.core.store import Study
from hindmost.core.study.kind import kind_of

_FIRST = ("folder", "kind", "target", "rate_per_s", "load", "created", "verdict", "runs", "busy")


def open_study(
    path: str | Path, *, require: Sequence[str] = (), frames: Library | None = None
) -> Result[Any]:
    """Load the answer of a study, or of a part of one, from its folder. Measure and write nothing.

    Parameters
    ----------
    path : str or Path
        The study's folder.
    require : sequence of str
        Limits to check a measurement against, for example ``["p99<5ms"]``, instead of the study's own.
    frames : {"polars", "pandas"}, optional
        Library of the DataFrames. Default: the installed one, polars first.

    Returns
    -------
    Result
        A `MeasureResult`, `SearchResult`, `AttributionResult`, `VerificationResult`, `ComparisonResult` or
        `BatchingResult`, depending on the kind of study.

    Raises
    ------
    UsageError
        If a limit is invalid, or does not apply to this study.
    StudyError
        If there is no study, it has no finished run, or this version cannot read it.

    Examples
    --------
    >>> import hindmost
    >>> hindmost.open_study("no-such-folder")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    hindmost.errors.StudyError: no-such-folder holds no study
    """
    from hindmost.commands.measure.limits import require_limits

    study = Study.open(Path(path))
    if require:
        require_limits(study, list(require))
    kind = kind_of(study)
    document = kind.answer(study)
    if not isinstance(document, msgspec.Struct):
        document = msgspec.to_builtins(document)
    return kind.result(document, study.folder, frames=frames)


def list_studies(folder: str | Path = ".", *, frames: Library | None = None) -> Any:  # noqa: ANN401 (a DataFrame of either library)
    """List the studies below a folder, as ``hindmost study list`` does. It reads no run and writes nothing.

    Parameters
    ----------
    folder : str or Path
        Folder to search. Studies within studies are their parts and are not listed.
    frames : {"polars", "pandas"}, optional
        Library of the DataFrame. Default: the installed one, polars first.

    Returns
    -------
    polars.DataFrame or pandas.DataFrame
        One row per study, the oldest first: ``folder`` (a path for `open_study`), ``kind``, ``target``,
        ``rate_per_s`` (null: as fast as possible), ``load``, ``created`` (UTC), ``verdict`` (null: no answer
        yet), ``runs``, ``busy`` (another process is writing it), ``fault_code`` and ``fault`` (why it cannot
        be read), ``headline``. For measurements also ``p99_us``, ``p99_low_us``, ``p99_high_us`` and so on,
        in microseconds.

    Raises
    ------
    UsageError
        If there is no such folder.

    Examples
    --------
    >>> import hindmost
    >>> hindmost.list_studies("no-such-folder")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    hindmost.errors.UsageError: there is no folder no-such-folder
    """
    from hindmost.commands.study.listing import listing

    root = Path(folder)
    rows = [_row(one, root) for one in listing(root).studies]
    names = dict.fromkeys(
        [*_FIRST, "fault_code", "fault", "headline", *(name for row in rows for name in row)]
    )
    return frame([{name: row.get(name) for name in names} for row in rows], frames, tuple(names))


def _row(one: StudyEntry, root: Path) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(one, name) for name in _FIRST}
    row |= {"fault_code": one.fault and one.fault.code, "fault": one.fault and one.fault.text}
    row |= {"folder": str(root / one.folder), "headline": one.headline}
    row["created"] = datetime.fromisoformat(one.created) if one.created else None
    for label, estimate in one.latency_us.items():
        row |= {
            f"{label}_us": estimate.value,
            f"{label}_low_us": estimate.low,
            f"{label}_high_us": estimate.high,
        }
    return row
