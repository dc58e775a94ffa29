"""A supervision, and its windows while it lasts."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from hindmost.commands.colocate.documents.supervision import SupervisedWindow, Supervision
from hindmost.commands.colocate.view.wording import percent
from hindmost.core.plan.units import format_us
from hindmost.present.blocks import Text, View


def view_supervision(doc: Supervision) -> View:
    """Show whether the latency limit was met, and how much CPU time the job got."""
    total, told = len(doc.windows), "no window was completed"
    if total:
        told = (
            f"p{doc.percentile:g} within {format_us(doc.limit_us)} in {doc.kept} of {total} windows of"
            f" {doc.window_s:g} s ({percent(doc.kept / total)})"
        )
    return View(
        title=f"{doc.job} next to {doc.application}",
        headline=f"{doc.job} next to {doc.application}: {told}",
        blocks=[Text(line) for line in _lines(doc)],
        schema=doc.schema,
    )


def _lines(doc: Supervision) -> Iterator[str]:
    if doc.broken_paused:
        yield (
            f"in {doc.broken_paused} of the {doc.broken} other windows the job was paused: the server"
            " exceeded the limit without it"
        )
    for words, ran in (("with the job", True), ("with the job paused", False)):
        values = [
            one.percentile_us for one in doc.windows if one.ran == ran and one.percentile_us is not None
        ]
        if values:
            middle, worst = format_us(statistics.median(values)), format_us(max(values))
            yield f"p{doc.percentile:g} {words}: median {middle}, worst {worst}"
    if changed := [one.overwritten for one in doc.windows if one.overwritten]:
        names = ", ".join(sorted({name for one in changed for name in one}))
        yield (
            f"in {len(changed)} windows another program changed {names} of the job's group; hindmost set"
            " it again"
        )
    if doc.got is not None:
        yield (
            f"the job got {doc.used_s:.1f} s of CPU time, {percent(doc.got, 0)} of the time that others left"
            f" free; it was throttled {doc.cuts} times and paused in {doc.paused} windows"
        )
    if doc.fixed is not None:
        yield f"the job had a fixed number of processors: {doc.fixed} of {doc.processors} processors"
    if doc.learned:
        yield f"what was observed was added to {doc.learned}, which colocate predict reads"
    how = "interrupted" if doc.interrupted else "finished"
    if doc.job_exit is not None:
        how = "the job has ended" if doc.job_exit == -1 else f"the job ended with exit code {doc.job_exit}"
    yield f"{how} after {doc.took_s:.0f} s; all settings are restored"


def window_line(window: SupervisedWindow, limit_us: float) -> str:
    """Describe one window as a line of progress."""
    value = "no answer" if window.percentile_us is None else format_us(window.percentile_us)
    state = "paused" if window.processors == 0 else f"on {window.processors}"
    mark = "" if window.kept else f"  above {format_us(limit_us)}"
    if window.overwritten:
        mark += f"  restored: {', '.join(window.overwritten)}"
    why = f" ({window.why.text})" if window.why else ""
    return f"{window.at_s:>7.1f} s  {value:>10}  job {state}{mark}{why}"
