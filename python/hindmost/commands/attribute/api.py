"""`hindmost.attribute`: run a study of factors."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from hindmost.commands.attribute.result import AttributionResult
from hindmost.core.frames import Library
from hindmost.core.results.call import restored_affinity
from hindmost.core.study.callback import CallbackProgress, ProgressFunction
from hindmost.core.study.kind import carry_out, kind_of


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
    from hindmost.commands.attribute.resolve import open_attribution, resolve

    folder = None if out is None else Path(out)
    with restored_affinity():
        plan, before = resolve(Path(study), folder, budget=budget, without=without, remake=remake)
        stored = open_attribution(plan, before, folder)
        shown = carry_out(stored, CallbackProgress(progress), confirm=confirm)
    return cast("AttributionResult", kind_of(stored).result(shown.answer, stored.folder, frames=frames))
