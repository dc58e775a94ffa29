"""A supervision, for the terminal."""

from __future__ import annotations

import statistics

from hindmost.commands.colocate.documents.supervision import SupervisedWindow, Supervision
from hindmost.core.plan.units import format_us


def render_supervision(document: Supervision) -> str:
    """Render whether the latency limit was met, and how much CPU time the job got."""
    windows, limit = document["windows"], format_us(document["limit_us"])
    told = f"p{document['percentile']:g}"
    total = len(windows)
    if not total:
        return f"{document['job']} next to {document['application']}: no window was completed\n"
    lines = [
        f"{document['job']} next to {document['application']}: {told} within {limit} in {document['kept']} of"
        f" {total} windows of {document['window_s']:g} s ({document['kept'] / total:.1%})"
    ]
    if document["broken_paused"]:
        lines.append(
            f"in {document['broken_paused']} of the {document['broken']} other windows the job was paused:"
            " the"
            " server exceeded the limit without it"
        )
    lines += [_percentiles(windows, told, ran=True), _percentiles(windows, told, ran=False)]
    if changed := [one["overwritten"] for one in windows if one["overwritten"]]:
        names = ", ".join(sorted({name for one in changed for name in one}))
        lines.append(
            f"in {len(changed)} windows another program changed {names} of the job's group; hindmost set it"
            " again"
        )
    if document["got"] is not None:
        lines.append(
            f"the job got {document['used_s']:.1f} s of CPU time, {document['got']:.0%} of the time that"
            " others left"
            f" free; it was throttled {document['cuts']} times and paused in {document['paused']} windows"
        )
    if document["fixed"] is not None:
        lines.append(
            f"the job had a fixed number of processors: {document['fixed']} of {document['processors']}"
            " processors"
        )
    lines.append(_end(document))
    return "\n".join(line for line in lines if line) + "\n"


def render_window(window: SupervisedWindow, document_limit_us: float) -> str:
    """Render one window as a line of progress."""
    value = "no answer" if window["percentile_us"] is None else format_us(window["percentile_us"])
    state = "paused" if window["processors"] == 0 else f"on {window['processors']}"
    mark = "" if window["kept"] else f"  above {format_us(document_limit_us)}"
    if window["overwritten"]:
        mark += f"  restored: {', '.join(window['overwritten'])}"
    return f"{window['at_s']:>7.1f} s  {value:>10}  job {state}{mark}" + (
        f" ({window['why']['text']})" if window["why"] else ""
    )


def _percentiles(windows: list[SupervisedWindow], told: str, *, ran: bool) -> str:
    values = [
        one["percentile_us"] for one in windows if one["ran"] == ran and one["percentile_us"] is not None
    ]
    if not values:
        return ""
    words = "with the job" if ran else "with the job paused"
    return f"{told} {words}: median {format_us(statistics.median(values))}, worst {format_us(max(values))}"


def _end(document: Supervision) -> str:
    if document["job_exit"] is not None:
        code = document["job_exit"]
        ended = "the job has ended" if code == -1 else f"the job ended with exit code {code}"
        return f"{ended} after {document['took_s']:.0f} s; all settings are restored"
    how = "interrupted" if document["interrupted"] else "finished"
    return f"{how} after {document['took_s']:.0f} s; all settings are restored"
