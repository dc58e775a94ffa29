"""A supervision in one screen."""

from __future__ import annotations

import statistics

from hindmost.plan.units import format_us
from hindmost.store.supervision import SupervisedWindow, Supervision


def render_supervision(document: Supervision) -> str:
    """Write whether the promise was kept, and what the job got."""
    windows, limit = document["windows"], format_us(document["limit_us"])
    told = f"p{document['percentile']:g}"
    total = len(windows)
    if not total:
        return f"{document['job']} next to {document['application']}: no window was over\n"
    lines = [
        f"{document['job']} next to {document['application']}: {told} within {limit} in {document['kept']} of"
        f" {total} windows of {document['window_s']:g} s ({document['kept'] / total:.1%})"
    ]
    if document["broken_paused"]:
        lines.append(
            f"in {document['broken_paused']} of the {document['broken']} others the job was paused: the"
            " server broke the promise without it"
        )
    lines += [_percentiles(windows, told, ran=True), _percentiles(windows, told, ran=False)]
    if changed := [one["overwritten"] for one in windows if one["overwritten"]]:
        names = ", ".join(sorted({name for one in changed for name in one}))
        lines.append(
            f"in {len(changed)} windows another program changed {names} of the job's group; it was set again"
        )
    if document["got"] is not None:
        lines.append(
            f"the job got {document['used_s']:.1f} s of processors, {document['got']:.0%} of what others left"
            f" free; it was cut {document['cuts']} times and paused through {document['paused']} windows"
        )
    if document["fixed"] is not None:
        lines.append(
            f"nothing was adapted: the job had {document['fixed']} of {document['processors']} processors"
        )
    lines.append(_end(document))
    return "\n".join(line for line in lines if line) + "\n"


def render_window(window: SupervisedWindow, document_limit_us: float) -> str:
    """One window in a line, for who looks on."""
    value = "no answer" if window["percentile_us"] is None else format_us(window["percentile_us"])
    state = "paused" if window["processors"] == 0 else f"on {window['processors']}"
    mark = "" if window["kept"] else f"  beyond {format_us(document_limit_us)}"
    if window["overwritten"]:
        mark += f"  set again: {', '.join(window['overwritten'])}"
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
        return f"{ended} after {document['took_s']:.0f} s; the host is as before"
    how = "interrupted" if document["interrupted"] else "over"
    return f"{how} after {document['took_s']:.0f} s; the host is as before"
