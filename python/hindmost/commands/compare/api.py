"""`hindmost.compare`: compare stored studies, or targets that are measured now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from hindmost.commands.compare.result import ComparisonResult
from hindmost.core.frames import Library
from hindmost.core.results.call import build_request, restored_affinity
from hindmost.core.results.result import Result
from hindmost.core.run.request import OPTIONS
from hindmost.core.study.callback import CallbackProgress, ProgressFunction
from hindmost.core.study.kind import carry_out, kind_of
from hindmost.errors import UsageError


def compare(
    *what: str | Path | Result[Any],
    live: bool = False,
    pairs: int | None = None,
    margin: str | float | None = None,
    anyway: bool = False,
    decide_on: Literal["isolated", "raw"] = "isolated",
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
        Number of valid rounds, with `live`. Default: as many as needed to decide.
    margin : float or str, optional
        Ratios within this margin count as equal. Default: 5 %.
    anyway : bool
        Compare studies even if their loads differ.
    decide_on : {"isolated", "raw"}
        Latency that decides, if both arms have isolated latency.
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
    from hindmost.commands.compare.targets import MARGIN, open_new
    from hindmost.commands.compare.targets import compare as stored
    from hindmost.core.plan import parse_changes, parse_percent

    limits = [one.text for one in parse_changes(fail_if)]
    share = None if margin is None else parse_percent(str(margin), "margin")
    names = [str(one.study if isinstance(one, Result) else one) for one in what]
    OPTIONS["decide_on"].check(decide_on)
    if not live:
        if options or pairs is not None or out is not None:
            given = [*options, *(["pairs"] if pairs is not None else []), *(["out"] if out else [])]
            raise UsageError(
                "conflicting-options",
                f"{given[0]} needs live=True: stored studies are already measured",
                hint=f"add live=True, or leave out {given[0]}",
                option=given[0],
            )
        document = stored(
            names,
            margin=MARGIN if share is None else share,
            fail_if=limits,
            anyway=anyway,
            decide_on=decide_on,
        )
        return ComparisonResult(document, frames=frames)
    asked = replace(build_request("synth", options), target=None, decide_on=decide_on)
    with restored_affinity():
        study = open_new(names, asked, pairs, share, limits, None if out is None else Path(out))
        shown = carry_out(study, CallbackProgress(progress))
    return cast("ComparisonResult", kind_of(study).result(shown.answer, study.folder, frames=frames))
