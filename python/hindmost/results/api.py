"""Functions for Python users: run a measurement, a search, a comparison or a study of factors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, cast

from hindmost.errors import UsageError
from hindmost.names import nearest
from hindmost.results.attribution import AttributionResult
from hindmost.results.comparison import ComparisonResult
from hindmost.results.frames import Library
from hindmost.results.measurement import MeasureResult
from hindmost.results.opening import build_result
from hindmost.results.progress import CallbackProgress, ProgressFunction
from hindmost.results.result import Result
from hindmost.results.search import SearchResult
from hindmost.run.request import OPTIONS, MeasureRequest
from hindmost.studies.kind import carry_out


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
    from hindmost.plan.limits import check_limits, parse_limits
    from hindmost.studies.begin import begin
    from hindmost.studies.search.options import plan_search

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
    return cast("MeasureResult | SearchResult", build_result(study, shown.document, frames))


def attribute(
    study: str | Path,
    *,
    budget: str | None = None,
    without: str | None = None,
    remake: str | None = None,
    confirm: bool = True,
    out: str | Path | None = None,
    progress: ProgressFunction | None = None,
    frames: Library | None = None,
) -> AttributionResult:
    """Find which factors cause the tail, and what to set, as ``hindmost attribute`` does.

    Parameters
    ----------
    study : str or Path
        A study file (TOML), or the folder of a study to continue.
    budget : str, optional
        Time for all runs, for example ``"30m"``. It determines the design and the number of blocks.
    without : str, optional
        Factors to leave out, separated by commas.
    remake : str, optional
        Share of all runs that may be repeated because of interference, for example ``"50%"``. Runs with
        interference are excluded. Default: the study file's value.
    confirm : bool
        Whether to confirm the recommended setting with fresh runs.
    out, progress, frames
        As for `measure`.

    Raises
    ------
    HindmostError
        As for `measure`. Changes to the host are undone in any case.

    Examples
    --------
    >>> import hindmost
    >>> hindmost.attribute("no-such-file.toml")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    hindmost.errors.UsageError: cannot read no-such-file.toml
    """
    from hindmost.studies.attribution.resolve import open_attribution, resolve

    folder = None if out is None else Path(out)
    with restored_affinity():
        plan, before = resolve(Path(study), folder, budget=budget, without=without, remake=remake)
        stored = open_attribution(plan, before, folder)
        shown = carry_out(stored, CallbackProgress(progress), confirm=confirm)
    return cast("AttributionResult", build_result(stored, shown.document, frames))


def compare(
    *what: str | Path | Result[Any],
    live: bool = False,
    pairs: int | None = None,
    margin: str | float | None = None,
    anyway: bool = False,
    fail_if: Sequence[str] = (),
    out: str | Path | None = None,
    progress: ProgressFunction | None = None,
    frames: Library | None = None,
    **options: Any,  # noqa: ANN401 (options of `MeasureRequest`)
) -> ComparisonResult:
    """Show whether servers, settings or versions differ, as ``hindmost compare`` does.

    Parameters
    ----------
    *what : str, Path or Result
        Studies, as folders or results. With `live`, targets. The others are compared with the first.
    live : bool
        Measure the targets now, in rounds of one run each.
    pairs : int, optional
        Number of valid rounds, with `live`.
    margin : float or str, optional
        Ratios within this margin count as equal. Default: 5 %.
    anyway : bool
        Compare studies even if their loads differ.
    fail_if : sequence of str
        Limits on changes, for example ``["p99>+5%"]``: see `ComparisonResult.limits`.
    out, progress, frames, **options
        As for `measure`. `out` and the options need `live`.

    Raises
    ------
    HindmostError
        As for `measure`, and if a study cannot be read or the comparison would be meaningless.

    Examples
    --------
    >>> import hindmost
    >>> hindmost.compare("no-such-study", "nor-this")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    hindmost.errors.StudyError: no-such-study holds no study
    """
    from hindmost.plan import parse_changes, parse_percent
    from hindmost.studies.comparison.targets import MARGIN, open_new
    from hindmost.studies.comparison.targets import compare as stored

    limits = [one.text for one in parse_changes(fail_if)]
    share = None if margin is None else parse_percent(str(margin), "margin")
    names = [str(one.study if isinstance(one, Result) else one) for one in what]
    if not live:
        if options or pairs is not None or out is not None:
            given = [*options, *(["pairs"] if pairs is not None else []), *(["out"] if out else [])]
            raise UsageError(
                "conflicting-options",
                f"{given[0]} needs live=True: stored studies are already measured",
                hint=f"add live=True, or leave out {given[0]}",
                option=given[0],
            )
        document = stored(names, margin=MARGIN if share is None else share, fail_if=limits, anyway=anyway)
        return ComparisonResult(document, frames=frames)
    asked = replace(build_request("synth", options), target=None)
    with restored_affinity():
        study = open_new(names, asked, pairs, share, limits, None if out is None else Path(out))
        shown = carry_out(study, CallbackProgress(progress))
    return cast("ComparisonResult", build_result(study, shown.document, frames))


def build_request(target: str | Path, options: dict[str, Any]) -> MeasureRequest:
    """Build the request for a measurement.

    Raises
    ------
    UsageError
        If there is no such option.
    """
    for name in options:
        if name not in OPTIONS:
            raise UsageError(
                "unknown-option",
                f"measure() has no option {name!r}{nearest(name, OPTIONS)}",
                hint="help(hindmost.measure)",
                option=name,
                known=list(OPTIONS),
            )
    return MeasureRequest.from_options({"target": str(target), **options})


@contextmanager
def restored_affinity() -> Iterator[None]:
    """Restore this process's CPU affinity afterwards. A measurement moves it off the server's CPUs."""
    mine = os.sched_getaffinity(0)
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)


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
