"""Options of commands that check a measurement against limits, and the files that they write for CI."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from cyclopts import Parameter

from hindmost.cli.options import OUTPUT, option
from hindmost.cli.outcome import refuse_files
from hindmost.cli.streams import say
from hindmost.core.exits import Exit
from hindmost.errors import ClientError, TargetError, UsageError

if TYPE_CHECKING:
    from hindmost.core.store.measure import Measure

Require = Annotated[
    tuple[str, ...],
    Parameter(
        group=OUTPUT,
        metavar="LIMIT",
        negative="",
        help="Exit with 3 if this limit is exceeded, 4 if it is undecided. Examples: 'p99<5ms', 'failed<1%',"
        " 'throughput>49k'. May be repeated.",
    ),
]
Junit = Annotated[Path | None, option(OUTPUT, "FILE", "Write the limits as JUnit XML, one test case each.")]
Markdown = Annotated[Path | None, option(OUTPUT, "FILE", "Write a Markdown summary for a CI job's page.")]


def refuse_unwritable(*, junit: Path | None, markdown: Path | None, limits: bool) -> None:
    """Refuse files that cannot be written, before anything is measured.

    Raises
    ------
    UsageError
        If a file cannot be written, or `junit` is given without a limit.
    """
    if junit is not None and not limits:
        raise UsageError(
            "missing-argument",
            "--junit writes a test case for each limit, but there is no --require",
            hint="--require 'p99<5ms'",
            option="--require",
        )
    refuse_files({"--junit": junit, "--markdown": markdown})


def report_unmeasured(
    target: str,
    texts: Sequence[str],
    error: TargetError | ClientError,
    *,
    junit: Path | None,
    markdown: Path | None,
) -> Exit:
    """Report the limits of a measurement that failed, and write the files for CI.

    Raises
    ------
    TargetError, InstanceError
        The same `error`, if no limit covers it.
    """
    from hindmost.cli.outcome import format_write_error, write_in_place
    from hindmost.commands.measure.limits import exit_code
    from hindmost.commands.measure.limits.failure import judge_unmeasured
    from hindmost.commands.measure.view.junit import render_junit
    from hindmost.commands.measure.view.limits import limit_lines, unmeasured_view
    from hindmost.core.plan.limits import parse_limits
    from hindmost.core.store import now_utc
    from hindmost.core.store.types import Target
    from hindmost.present.markdown import render_markdown

    limits = judge_unmeasured(error, parse_limits(texts))
    if not limits:
        raise error
    server = Target(name=target, protocol="", address="", managed=False)
    tests = render_junit(limits, server, now_utc(), 0.0)
    files = {junit: tests, markdown: render_markdown(unmeasured_view(target, limits))}
    faults = [fault for path, text in files.items() if path and (fault := write_in_place(path, text))]
    say(*getattr(error, "__notes__", ()), *limit_lines(limits), *map(format_write_error, faults))
    return exit_code(limits)


def render_files(answer: object, *, junit: Path | None, markdown: Path | None) -> dict[Path, str]:
    """Return the text of each requested file of a measurement, by path."""
    from hindmost.commands.measure.view import view
    from hindmost.commands.measure.view.junit import render_junit
    from hindmost.present.markdown import render_markdown

    files = {}
    doc = cast("Measure", answer)
    if junit is not None:
        files[junit] = render_junit(doc.limits or (), doc.target, doc.created, doc.seconds_total)
    if markdown is not None:
        files[markdown] = render_markdown(view(doc))
    return files
