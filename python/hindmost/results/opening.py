"""A stored study as the result that its kind has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from hindmost.results.attributed import AttributionResult
from hindmost.results.batched import BatchingResult
from hindmost.results.compared import ComparisonResult
from hindmost.results.frames import Library
from hindmost.results.measured import MeasureResult
from hindmost.results.result import Result
from hindmost.results.searched import SearchResult
from hindmost.results.tried import TrialResult
from hindmost.results.verified import VerificationResult
from hindmost.store import Study
from hindmost.studies.kind import kind_of
from hindmost.studies.search import Found


def _explained(*words: Any, **options: Any) -> Result[Any]:  # noqa: ANN401 (as of a result)
    """A result that lies in its command's own package, above this one."""
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
    "explain": _explained,
}
"""The registry: a study's kind to its result."""


def open_study(
    path: str | Path, *, require: Sequence[str] = (), frames: Library | None = None
) -> Result[Any]:
    """Answer a stored study, or a part of one, from its folder alone; nothing is measured or written.

    Parameters
    ----------
    path : str or Path
        The study's folder.
    require : sequence of str
        Limits to hold a measurement against, such as ``["p99<5ms"]``, in place of those it was made with.
    frames : {"polars", "pandas"}, optional
        Of which library DataFrames are; the one that is installed otherwise, polars first.

    Returns
    -------
    Result
        A `MeasureResult`, `SearchResult`, `AttributionResult`, `VerificationResult`, `ComparisonResult` or
        `BatchingResult`, as its kind is.

    Raises
    ------
    UsageError
        A limit cannot be meant, or not of this study.
    StudyError
        There is no study, or it has no finished run, or this version cannot read it.

    Examples
    --------
    >>> import hindmost
    >>> hindmost.open_study("no-such-folder")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    hindmost.errors.StudyError: no-such-folder holds no study
    """
    from hindmost.studies.measure.limits import required

    study = Study.open(Path(path))
    if require:
        required(study, list(require))
    kind = kind_of(study)
    found = kind.answer(study)
    document = found.document() if isinstance(found, Found) else to_builtins(found)
    return result_of(study, document, frames)


def result_of(study: Study, document: object, frames: Library | None) -> Result[Any]:
    """The result of a study's kind."""
    return RESULTS[kind_of(study).name](document, study.folder, frames=frames)
