"""Opening a stored study as the result class of its kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from hindmost.results.attribution import AttributionResult
from hindmost.results.comparison import (
    BatchingResult,
    ComparisonResult,
    TrialResult,
    VerificationResult,
)
from hindmost.results.frames import Library
from hindmost.results.measurement import MeasureResult
from hindmost.results.result import Result
from hindmost.results.search import SearchResult
from hindmost.store import Study
from hindmost.studies.kind import kind_of
from hindmost.studies.search import SearchFindings


def _build_explain_result(*words: Any, **options: Any) -> Result[Any]:  # noqa: ANN401 (as of a result)
    """Return a result whose class is in its command's own package, above this one."""
    made: Result[Any] = import_module("hindmost.explain.result").ExplainResult(*words, **options)
    return made


RESULTS: dict[str, Callable[..., Result[Any]]] = {
    "measure": MeasureResult,
    "search": SearchResult,
    "attribution": AttributionResult,
    "verification": VerificationResult,
    "comparison": ComparisonResult,
    "batching": BatchingResult,
    "trial": TrialResult,
    "explain": _build_explain_result,
}
"""The result class of each kind of study."""


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
    from hindmost.studies.measure.limits import require_limits

    study = Study.open(Path(path))
    if require:
        require_limits(study, list(require))
    kind = kind_of(study)
    found = kind.answer(study)
    document = found.document() if isinstance(found, SearchFindings) else to_builtins(found)
    return build_result(study, document, frames)


def build_result(study: Study, document: object, frames: Library | None) -> Result[Any]:
    """Build the result of a study's kind."""
    return RESULTS[kind_of(study).name](document, study.folder, frames=frames)
