"""A server next to jobs: predicted and measured, and the heat maps of the profiles."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hindmost.commands.colocate.documents.profiles import (
    AtLoad,
    CoRun,
    JobEffect,
    JobEffectAtProfileLoad,
    PredictedLoss,
    Share,
)
from hindmost.commands.colocate.view.profile import describe_load
from hindmost.commands.colocate.view.wording import (
    LOST,
    growth_cells,
    interval,
    list_notes,
    percent,
    shade,
    share_cell,
    windows_text,
)
from hindmost.present import numbers
from hindmost.present.blocks import Block, Cell, Only, Section, Table, Text, Tone, View

_TONES: dict[str, Tone] = {"broken": "invalid", "undecided": "inconclusive", "kept": "valid"}
"""The worst first."""


def view_corun(doc: CoRun) -> View:
    """Show whether the limit was kept next to each job, and what was predicted."""
    loads: list[CoRun | AtLoad] = [doc, *doc.loads]
    promises = {job.promise for at in loads for job in at.jobs}
    word = next(one for one in _TONES if one in promises)
    told = "; ".join(f"next to {job.job} this limit is {job.promise}" for job in doc.jobs)
    made = windows_text(doc.windows, doc.window_ms, doc.dropped, doc.took_s)
    return View(
        title=f"{doc.server} next to {', '.join(job.job for job in doc.jobs)}",
        word=word,
        tone=_TONES[word],
        headline=f"{doc.server}: p99 may grow by {percent(doc.within, 0)}; {told}",
        meta=(doc.processor.name,),
        blocks=[
            *(_section(doc, at) for at in loads),
            Only("page", [Section("Expected sources of the growth", list(_heat_maps(doc)))]),
            Section("Measurement", [list_notes(doc.notes), Text(f"{made}; jobs ran {doc.placement}")]),
        ],
        schema=doc.schema,
    )


def _section(doc: CoRun, at: CoRun | AtLoad) -> Section:
    loaded = at.loaded
    in_flight = f"; a request was in progress {percent(loaded.load, 0)} of the time" if loaded.load else ""
    scores = [
        (one.model, _factor(one.p50), _factor(one.p99), f"{one.covered} of {one.told}") for one in at.scores
    ]
    reading = (
        "Losses are relative to the inert stressor in the job's place, within rounds. Latency starts at a"
        " request's scheduled time. Intervals are 95 % intervals. No prediction uses coefficients fitted to"
        " pairs."
        if at is doc
        else "Predictions that begin with lighter start from the measurement under the first load, and"
        " predict only the queue."
    )
    return Section(
        f"{doc.server} at {numbers.rate(loaded.requested_per_s)}",
        [
            Text(f"{describe_load(loaded)}{in_flight}"),
            Only("page", [Text(reading, "muted")]),
            *map(_job_table, at.jobs),
            Table(
                ("error factor", "p50", "p99", "p99 covered"),
                scores,
                caption="Error of each prediction as a factor (mean of logarithms over the jobs), and the"
                " number of p99 within its interval",
            ),
        ],
    )


def _job_table(job: JobEffect) -> Table:
    answer = f" (the profiles predicted {job.answer})" if isinstance(job, JobEffectAtProfileLoad) else ""
    measured = ("measured", share_cell(job.lost), *growth_cells(job.latency))
    predicted = [
        (one.model, percent(one.lost), _bounded(one.p50), Cell(_bounded(one.p99), detail=_between(one)))
        for one in job.predicted
    ]
    return Table(
        ("", "rate lost", "p50 grows by", "p99 grows by"),
        [measured, *predicted],
        best=0,
        caption=f"Next to {job.job} the limit is {job.promise}{answer}",
    )


def _bounded(growth: float | None) -> str:
    """Format a prediction. A queue that grows without bound has no value."""
    return "unbounded" if growth is None else percent(growth)


def _between(one: PredictedLoss) -> str:
    """Format the interval of a predicted p99. A prediction without an error estimate has none."""
    return "" if one.p99_low == one.p99_high else f"[{_bounded(one.p99_low)}, {_bounded(one.p99_high)}]"


def _factor(error: float | None) -> str:
    """Format an error of logarithms as a factor."""
    return numbers.MISSING if error is None else f"{math.exp(error):.2f}"


def _heat_maps(doc: CoRun) -> Iterator[Block]:
    grown = {axis.stressor: axis.latency.p99 if axis.latency else None for axis in doc.axes}
    sensitivity = [
        ("rate lost", [_share(axis.sensitivity) for axis in doc.axes]),
        ("p50 grows", [_share(axis.latency.p50 if axis.latency else None) for axis in doc.axes]),
        ("p99 grows", [_share(one) for one in grown.values()]),
    ]
    taken = [(job.job, {axis.stressor: axis.contentiousness for axis in job.axes}) for job in doc.jobs]
    contentiousness = [(job, [_share(own.get(one)) for one in grown]) for job, own in taken]
    products = [(job, [_product(p99, own.get(one)) for one, p99 in grown.items()]) for job, own in taken]
    for caption, rows in (
        (f"Sensitivity: loss of {doc.server} next to each stressor", sensitivity),
        ("Contentiousness: loss of each stressor next to each job", contentiousness),
        ("Growth of p99 next to a stressor, times the job's contentiousness", products),
    ):
        yield Table(["", *grown], [[name, *cells] for name, cells in rows], caption=caption)
    yield Text(
        "Bold cells have intervals that exclude zero; the others are within the noise. Point at a cell to see"
        " its interval.",
        "muted",
    )


def _share(share: Share | None) -> Cell:
    if share is None:
        return Cell(numbers.MISSING, "muted", hover=LOST)
    return shade(share.value, percent(share.value, 0), interval(share), significant=share.excludes_zero)


def _product(grown: Share | None, con: Share | None) -> Cell:
    if grown is None or con is None:
        return _share(None)
    value = grown.value * max(0.0, con.value)
    significant = grown.excludes_zero and con.low > 0
    return shade(value, percent(value, 0), percent(value, 2), significant=significant)
