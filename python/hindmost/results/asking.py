"""What Python users ask for: a measurement, a search, a study of factors."""

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
from hindmost.results.attributed import AttributionResult
from hindmost.results.compared import ComparisonResult
from hindmost.results.frames import Library
from hindmost.results.measured import MeasureResult
from hindmost.results.opening import result_of
from hindmost.results.result import Result
from hindmost.results.searched import SearchResult
from hindmost.results.talking import Tell, Telling
from hindmost.run.request import OPTIONS, MeasureRequest
from hindmost.studies.kind import carry_out


def measure(
    target: str | Path,
    *,
    find_rate: str | None = None,
    require: Sequence[str] = (),
    out: str | Path | None = None,
    progress: Tell | None = None,
    frames: Library | None = None,
    **options: Any,  # noqa: ANN401 (those of `MeasureRequest`)
) -> MeasureResult | SearchResult:
    """Measure a server's tail latency with the whole procedure, as ``hindmost measure`` does.

    Parameters
    ----------
    target : str or Path
        A running server (``memcached://HOST:PORT``), a preset that is started and restarted (``memcached``,
        ``redis``, ``nginx``, ``apache``, ``synth``), or a target file.
    find_rate : str, optional
        Search for the highest rate at which this holds, such as ``"p99<500us"``; the result then is a
        `SearchResult`.
    require : sequence of str
        Limits to hold it against, such as ``["p99<5ms", "failed<1%"]``: see `MeasureResult.limits`.
    out : str or Path, optional
        Folder of the study; by default a new one here, named after the target and the time.
    progress : callable, optional
        Told in lines how far it is, such as `print`. Nothing is printed by itself.
    frames : {"polars", "pandas"}, optional
        Of which library DataFrames are; the one that is installed otherwise, polars first.
    **options
        Those of `MeasureRequest`, with its defaults: ``rate=50_000`` or ``"50k"``, ``runs="3..5"``,
        ``duration="2s"``, ``workload="mix.json"`` and so on.

    Returns
    -------
    MeasureResult or SearchResult

    Raises
    ------
    HindmostError
        What was asked for makes no sense (`UsageError`), the server cannot be reached (`TargetError`), the
        host cannot do it (`HostUnfit`), ...; its ``hint`` says what to do. A verdict is no error.

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
    from hindmost.plan.limits import fitting, parse_limits
    from hindmost.studies.begin import begin
    from hindmost.studies.search.asked import searching

    asked = request_of(target, options)
    limits = parse_limits(require)
    folder = None if out is None else Path(out)
    with here():
        if find_rate is not None:
            plan, objective = searching(asked, find_rate)
            study = begin(plan, folder, "search", search={"objective": objective.text})
        else:
            more = {"require": list(require)} if limits else {}
            study = begin(fitting(asked.plan(), limits), folder, "measure", **more)
        shown = carry_out(study, Telling(progress))
    return cast("MeasureResult | SearchResult", result_of(study, shown.document, frames))


def attribute(
    study: str | Path,
    *,
    budget: str | None = None,
    without: str | None = None,
    remake: str | None = None,
    confirm: bool = True,
    out: str | Path | None = None,
    progress: Tell | None = None,
    frames: Library | None = None,
) -> AttributionResult:
    """Find which factors cause the tail, and what to set, as ``hindmost attribute`` does.

    Parameters
    ----------
    study : str or Path
        A study file (TOML), or the folder of a study, to go on with it.
    budget : str, optional
        Time for all runs, like ``"30m"``; it decides design and blocks.
    without : str, optional
        Factors to leave out, separated by commas.
    remake : str, optional
        Runs that the host disturbed are set aside, and so many more made again, such as ``"50%"`` of all; by
        default as the study file says.
    confirm : bool
        Make fresh runs of the recommended setting.
    out, progress, frames
        As `measure`.

    Raises
    ------
    HindmostError
        As `measure`. What was changed on the host is put back in any case.

    Examples
    --------
    >>> import hindmost
    >>> hindmost.attribute("no-such-file.toml")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    hindmost.errors.UsageError: cannot read no-such-file.toml
    """
    from hindmost.studies.attribution.resolve import opened, resolve

    folder = None if out is None else Path(out)
    with here():
        plan, before = resolve(Path(study), folder, budget=budget, without=without, remake=remake)
        stored = opened(plan, before, folder)
        shown = carry_out(stored, Telling(progress), confirm=confirm)
    return cast("AttributionResult", result_of(stored, shown.document, frames))


def compare(
    *what: str | Path | Result[Any],
    live: bool = False,
    pairs: int | None = None,
    margin: str | float | None = None,
    anyway: bool = False,
    fail_if: Sequence[str] = (),
    out: str | Path | None = None,
    progress: Tell | None = None,
    frames: Library | None = None,
    **options: Any,  # noqa: ANN401 (those of `MeasureRequest`)
) -> ComparisonResult:
    """Show whether servers, settings or versions differ, as ``hindmost compare`` does.

    Parameters
    ----------
    *what : str, Path or Result
        Studies, by folder or result; with `live`, targets. The first is what others are compared with.
    live : bool
        Measure the targets now, in rounds of one run each.
    pairs : int, optional
        Rounds that count, with `live`.
    margin : float or str, optional
        Ratios within it count as the same, by default 5 %.
    anyway : bool
        Compare studies that were not loaded alike, too.
    fail_if : sequence of str
        Limits of changes, such as ``["p99>+5%"]``: see `ComparisonResult.limits`.
    out, progress, frames, **options
        As `measure`; `out` and options with `live`.

    Raises
    ------
    HindmostError
        As `measure`; a study cannot be read, or comparing would be meaningless.

    Examples
    --------
    >>> import hindmost
    >>> hindmost.compare("no-such-study", "nor-this")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    hindmost.errors.StudyError: no-such-study holds no study
    """
    from hindmost.plan import parse_changes, parse_percent
    from hindmost.studies.comparison import MARGIN, opened
    from hindmost.studies.comparison import compare as stored

    limits = [one.text for one in parse_changes(fail_if)]
    share = None if margin is None else parse_percent(str(margin), "margin")
    names = [str(one.study if isinstance(one, Result) else one) for one in what]
    if not live:
        if options or pairs is not None or out is not None:
            given = [*options, *(["pairs"] if pairs is not None else []), *(["out"] if out else [])]
            raise UsageError(
                "conflicting-options",
                f"{given[0]} needs live=True: stored studies are compared as they are",
                hint=f"add live=True, or leave {given[0]} out",
                option=given[0],
            )
        document = stored(names, margin=MARGIN if share is None else share, fail_if=limits, anyway=anyway)
        return ComparisonResult(document, frames=frames)
    asked = replace(request_of("synth", options), target=None)
    with here():
        study = opened(names, asked, pairs, share, limits, None if out is None else Path(out))
        shown = carry_out(study, Telling(progress))
    return cast("ComparisonResult", result_of(study, shown.document, frames))


def request_of(target: str | Path, options: dict[str, Any]) -> MeasureRequest:
    """What is asked of a measurement.

    Raises
    ------
    UsageError
        It has no such option.
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
def here() -> Iterator[None]:
    """Measuring steps aside from the server's processors; afterwards this process has its own again."""
    mine = os.sched_getaffinity(0)
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)


def _with_options() -> None:
    """Show `measure` with the options of `MeasureRequest`: names, types and defaults stand there alone."""
    own = signature(measure)
    *first, _ = own.parameters.values()
    rest = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
        for one in OPTIONS.values()
        if one.name != "target"
    ]
    measure.__signature__ = own.replace(parameters=[*first, *rest])  # type: ignore[attr-defined]


_with_options()
