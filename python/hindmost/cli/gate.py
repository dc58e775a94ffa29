"""Options of verbs that hold a measurement against limits, and the files in which a CI job reads of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from hindmost.cli.options import OUTPUT, option
from hindmost.cli.outcome import refuse_files
from hindmost.cli.streams import say
from hindmost.errors import InstanceError, TargetError, UsageError
from hindmost.exits import Exit

Require = Annotated[
    tuple[str, ...],
    Parameter(
        group=OUTPUT,
        metavar="LIMIT",
        negative="",
        help="Exit with 3 where this is crossed, 4 where undecided, like 'p99<5ms', 'failed<1%' or"
        " 'throughput>49k'; may be repeated.",
    ),
]
Junit = Annotated[Path | None, option(OUTPUT, "FILE", "Write the limits as JUnit XML, a test case each.")]
Markdown = Annotated[Path | None, option(OUTPUT, "FILE", "Write a summary in Markdown, for a CI job's page.")]


def refuse_unwritable(*, junit: Path | None, markdown: Path | None, limits: bool) -> None:
    """Refuse files that cannot be written before anything is measured.

    Raises
    ------
    UsageError
        If one cannot, or there would be no limit to write of.
    """
    if junit is not None and not limits:
        raise UsageError(
            "missing-argument",
            "--junit writes a test case for each limit, but there is no --require",
            hint="--require 'p99<5ms'",
            option="--require",
        )
    refuse_files({"--junit": junit, "--markdown": markdown})


def unmeasured(
    target: str,
    texts: Sequence[str],
    error: TargetError | InstanceError,
    *,
    junit: Path | None,
    markdown: Path | None,
) -> Exit:
    """Tell what becomes of limits when nothing could be measured, and write the files that a CI job reads.

    Raises
    ------
    TargetError, InstanceError
        The same, where no limit speaks of it.
    """
    from hindmost.cli.outcome import unwritten, written
    from hindmost.plan.limits import parse_limits
    from hindmost.report.measure.junit import render_junit
    from hindmost.report.measure.limits import lines, unmeasured_markdown
    from hindmost.store import now_utc
    from hindmost.studies.measure.limits import exit_of
    from hindmost.studies.measure.limits.unmeasured import unmeasured as judged

    limits = judged(error, parse_limits(texts))
    if not limits:
        raise error
    document = {
        "target": {"name": target, "address": ""},
        "created": now_utc(),
        "seconds_total": 0.0,
        "limits": limits,
    }
    asked = ((junit, render_junit), (markdown, unmeasured_markdown))
    faults = [fault for path, render in asked if path and (fault := written(path, render(document)))]
    say(*getattr(error, "__notes__", ()), *lines(document), *map(unwritten, faults))
    return exit_of(limits)


def files(document: Mapping[str, Any], *, junit: Path | None, markdown: Path | None) -> dict[Path, str]:
    """What goes into which file."""
    from hindmost.report.measure.junit import render_junit
    from hindmost.report.measure.markdown import render_markdown

    asked = ((junit, render_junit), (markdown, render_markdown))
    return {path: render(document) for path, render in asked if path is not None}
