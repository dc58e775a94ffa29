"""`hindmost.measure`: run a measurement or a search for a rate."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, cast

from hindmost.commands.measure.result import MeasureResult
from hindmost.commands.measure.search.result import SearchResult
from hindmost.core.frames import Library
from hindmost.core.results.call import build_request, restored_affinity
from hindmost.core.run.request import OPTIONS
from hindmost.core.study.callback import CallbackProgress, ProgressFunction
from hindmost.core.study.kind import carry_out, kind_of


def measure(
    target: str | Path,
    *,
    find_rate: str | None = None,
    require: Sequence[str] = (),
    out: str | Path | None = None,
    progress: ProgressFunction | None = None,
    frames: Library | None = None,
    **options: Any,  # noqa: ANN401 (options of `MeasureRequest`)
) -> MeasureResult | SearchResult:
    """Measure a server's tail latency with the whole procedure, as ``hindmost measure`` does.

    Parameters
    ----------
    target : str or Path
        A running server (``memcached://HOST:PORT``), a preset that Hindmost starts and restarts
        (``memcached``, ``redis``, ``nginx``, ``apache``, ``synth``), or a target file.
    find_rate : str, optional
        Search for the highest rate at which this limit holds, for example ``"p99<500us"``. The result is then
        a `SearchResult`.
    require : sequence of str
        Limits to check, for example ``["p99<5ms", "failed<1%"]``: see `MeasureResult.limits`.
    out : str or Path, optional
        Folder of the study. Default: a new folder here, named after the target and the time.
    progress : callable, optional
        Function that receives lines of progress, for example `print`. Without it, nothing is printed.
    frames : {"polars", "pandas"}, optional
        Library of the DataFrames. Default: the installed one, polars first.
    **options
        Options of `MeasureRequest`, with its defaults: ``rate=50_000`` or ``"50k"``, ``runs="3..5"``,
        ``duration="2s"``, ``workload="mix.json"`` and so on.

    Returns
    -------
    MeasureResult or SearchResult

    Raises
    ------
    HindmostError
        If the request is inconsistent (`UsageError`), the server cannot be reached (`TargetError`), the host
        is unsuitable (`HostUnfit`), and so on. Its ``hint`` says what to do. A verdict raises no error.

    Examples
    --------
    >>> import hindmost
    >>> from hindmost.errors import UsageError
    >>> try:
    ...     hindmost.measure("memcached", rat=50_000)
    ... except UsageError as error:
    ...     print(error.code, error.fields["option"])
    unknown-option rat
    """
    from hindmost.commands.measure.search.options import plan_search
    from hindmost.core.plan.limits import check_limits, parse_limits
    from hindmost.core.study.begin import begin

    asked = build_request(target, options)
    limits = parse_limits(require)
    folder = None if out is None else Path(out)
    with restored_affinity():
        if find_rate is not None:
            plan, objective = plan_search(asked, find_rate)
            study = begin(plan, folder, "search", search={"objective": objective.text})
        else:
            more = {"require": list(require)} if limits else {}
            study = begin(check_limits(asked.plan(), limits), folder, "measure", **more)
        shown = carry_out(study, CallbackProgress(progress))
    return cast(
        "MeasureResult | SearchResult", kind_of(study).result(shown.answer, study.folder, frames=frames)
    )


def _expand_signature() -> None:
    """Give `measure` a signature with the options of `MeasureRequest`."""
    own = signature(measure)
    *first, _ = own.parameters.values()
    rest = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
        for one in OPTIONS.values()
        if one.name != "target"
    ]
    measure.__signature__ = own.replace(parameters=[*first, *rest])  # type: ignore[attr-defined]


_expand_signature()
