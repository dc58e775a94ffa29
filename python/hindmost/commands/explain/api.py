"""`hindmost.explain`: find why the tail is slow, and confirm what reduces it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from hindmost.commands.explain.result import ExplainResult
from hindmost.core.frames import Library
from hindmost.core.results.call import build_request, restored_affinity
from hindmost.core.study.callback import CallbackProgress, ProgressFunction
from hindmost.core.study.kind import carry_out, kind_of


def explain(
    target: str | Path,
    *,
    budget: str = "5m",
    by: str = "p99",
    apply: bool = False,
    out: str | Path | None = None,
    progress: ProgressFunction | None = None,
    frames: Library | None = None,
    **options: Any,  # noqa: ANN401 (those of `MeasureRequest`)
) -> ExplainResult:
    """Explain the tail of a server and confirm what reduces it, as ``hindmost explain`` does.

    Parameters
    ----------
    target : str or Path
        As for `hindmost.measure`, or the process id of a server.
    budget : str
        Time for all runs.
    by : str
        The figure to lower: ``mean`` or a percentile.
    apply : bool
        Keep confirmed settings of this host until ``hindmost host knobs restore``.
    out, progress, frames, **options
        As for `hindmost.measure`.

    Raises
    ------
    HindmostError
        As for `hindmost.measure`; settings are restored in any case.

    Examples
    --------
    >>> import hindmost
    >>> from hindmost.errors import UsageError
    >>> try:
    ...     hindmost.explain("memcached", budget="1s")
    ... except UsageError as error:
    ...     print(error.code)
    bad-value
    """
    from hindmost.commands.explain.request import create_study

    request = build_request(target, options)
    with restored_affinity():
        study = create_study(request, budget, by, None if out is None else Path(out))
        shown = carry_out(study, CallbackProgress(progress), apply=apply)
    return cast("ExplainResult", kind_of(study).result(shown.answer, study.folder, frames=frames))
