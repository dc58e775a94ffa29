"""View of a trace: the path of a request, culprits, the slowest requests, possible changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from hindmost.commands.trace import charts
from hindmost.commands.trace.profile import profile_section, waits_section
from hindmost.commands.trace.wording import (
    STAGES,
    delay_text,
    figure_cell,
    interference_text,
    prediction_text,
    share_cell,
    unknown_texts,
    windows_texts,
)
from hindmost.core.tracing.advice import share_of
from hindmost.core.tracing.document import Advice, Group, Part, Parts, Slowest, StageFigures, Trace
from hindmost.present import numbers
from hindmost.present.blocks import Block, Cell, Chart, Item, Items, Only, Section, Table, Text, View

LEAST_MATCHED = 0.999
LEAST_SHARE = 0.005
"""Share of the variance, or of the slowest requests' time, below which a part is not shown."""
MOST = 10
NOTABLE_BATCH = 1.005
"""Mean size of a batch from which batches are described."""


def view(doc: Trace, before: Trace | None = None) -> View:
    """Return the view of a trace.

    Parameters
    ----------
    before
        An earlier trace, which the page shows next to this one.
    """
    isolated = doc.taken is None or doc.taken.isolated
    return View(
        title=f"Stages of {doc.server.name}",
        word=f"{numbers.percent(doc.matched)} followed{'' if isolated else ', with interference'}",
        tone="valid" if doc.matched >= LEAST_MATCHED and isolated else "inconclusive",
        headline=_headline(doc),
        schema=doc.schema,
        blocks=[
            Section("The path of a request", list(_path(doc))),
            *([Only("page", [_before_and_after(before, doc)])] if before is not None else []),
            Section("Kinds of requests", list(_kinds(doc))),
            Section("What delayed requests", list(_delays(doc))),
            *([_slowest(doc.who.slowest)] if doc.who is not None and doc.who.slowest is not None else []),
            *([profile_section(doc.profile)] if doc.profile is not None else []),
            *([waits_section(doc.waits)] if doc.waits is not None else []),
            Section("Possible changes", [Items([_change(one) for one in doc.advice])]),
            Only("page", [Section("Covariances of the stages, µs²", [_covariances(doc.all)])]),
            _groups("Recorded requests by path or command", doc.requests),
            _groups("Recorded requests by the thread that read them", doc.threads),
            _groups("Recorded requests of the connections with most of the variance", doc.connections),
            Section("Notes", [Items(list(_notes(doc))), Text(_cost(doc))]),
        ],
    )


def _headline(doc: Trace) -> str:
    by_variance, by_mean = doc.critical.by_variance, doc.critical.by_mean
    text = f"{doc.server.name}: most of the variance arises in {STAGES[by_variance]}"
    if by_variance == by_mean:
        return f"{text}, which is also the longest stage"
    return f"{text}; {STAGES[by_mean]} takes longest, but shortening it would change the tail less"


def _path(doc: Trace) -> Iterator[Block]:
    server, parts = doc.server, doc.all
    yield Text(
        f"port {server.port}, {server.protocol}: {numbers.count(parts.requests)} requests in"
        f" {numbers.number(doc.followed_s)} s ({numbers.rate(parts.requests / doc.followed_s)})"
    )
    if doc.windows is not None:
        yield from windows_texts(doc.windows)
    heads = ("stage", "mean µs", "std µs", "C²", "of the mean", "of the variance")
    yield Table(heads, [_stage_row(stage) for stage in parts.rows])
    yield Chart(partial(charts.shares, doc, "mean"), "Mean time of each stage, as a share of latency.")
    yield Chart(
        partial(charts.shares, doc, "variance"),
        "Where variance arises: the covariance of each stage with the latency, as a share of its variance.",
    )
    if doc.begun is not None:
        share = numbers.percent(doc.begun.share)
        yield Text(f"{doc.begun.function} begins a request: the trace saw it for {share} of them.")
    if parts.batch.mean > NOTABLE_BATCH:
        yield Text(_batch(parts))
    if doc.taken is not None:
        yield Text(interference_text(doc.taken))
    how = (
        "From the arrival of the request to the departure of its response, on the server's host. 95 %"
        " intervals by a bootstrap over blocks of time."
    )
    yield Only("page", [Text(how, "muted")])


def _stage_row(stage: StageFigures) -> tuple[str | Cell, ...]:
    return (
        STAGES[stage.stage],
        figure_cell(stage.mean_us),
        _deviation(stage.variance_us2.value),
        numbers.number(None if stage.c2 is None else stage.c2.value),
        numbers.percent(stage.share_of_mean),
        share_cell(None if stage.stage == "latency" else stage.share_of_variance),
    )


def _deviation(variance_us2: float) -> str:
    return numbers.number(variance_us2**0.5)


def _batch(parts: Parts) -> str:
    batch = parts.batch
    text = (
        f"A batch contains {numbers.number(batch.mean)} requests (standard deviation"
        f" {_deviation(batch.variance)})"
    )
    pairs = zip(batch.correlation, parts.stages, strict=True)
    known = [(one, stage.stage) for one, stage in pairs if one is not None]
    if known:
        most, name = max(known, key=lambda one: abs(one[0]))
        text += f"; its size correlates most with {STAGES[name]} ({most:.2f})"
    return f"{text}."


def _before_and_after(before: Trace, after: Trace) -> Section:
    rows = []
    for one, two in zip(before.all.rows, after.all.rows, strict=True):
        cells = [STAGES[one.stage]]
        for old, new in (
            (one.mean_us.value, two.mean_us.value),
            (one.variance_us2.value**0.5, two.variance_us2.value**0.5),
        ):
            cells += [
                numbers.number(old),
                numbers.number(new),
                f"{new / old:.2f}" if old else numbers.MISSING,
            ]
        rows.append(cells)
    heads = ("stage", "mean µs before", "after", "ratio", "std µs before", "after", "ratio")
    return Section("Before and after", [Table(heads, rows)], "before")


def _kinds(doc: Trace) -> Iterator[Block]:
    if len(doc.kinds) < 2:
        return
    rows = [
        (
            kind,
            numbers.count(parts.requests),
            numbers.number(parts.latency.mean_us.value),
            _deviation(parts.latency.variance_us2.value),
            STAGES[max(parts.stages, key=share_of).stage],
        )
        for kind, parts in doc.kinds.items()
    ]
    yield Table(("kind", "requests", "mean µs", "std µs", "most variance in"), rows, "<>>><")
    if doc.between_kinds is not None:
        yield Text(f"Differences between kinds cause {numbers.percent(doc.between_kinds)} of the variance.")


def _delays(doc: Trace) -> Iterator[Block]:
    if doc.who is None:
        return
    yield from _delay_tables("culprit", doc.who.culprits)
    yield from _delay_tables("cause", doc.who.parts)
    yield from map(Text, unknown_texts(doc.who))


def _delay_tables(name: str, parts: Sequence[Part]) -> Iterator[Block]:
    """Yield a table for the terminal, and one for the page."""
    rows = [
        (
            delay_text(one),
            figure_cell(one.mean_us),
            share_cell(one.share_of_variance),
            numbers.number(one.sd_without_us),
        )
        for one in parts
        if share_of(one) >= LEAST_SHARE
    ][:MOST]
    heads = (name, "mean µs", "of the variance", "std µs without it")
    yield Only("terminal", [Table(heads[:-1], [row[:-1] for row in rows])])
    yield Only("page", [Table(heads, rows)])


def _slowest(slowest: Slowest) -> Section:
    total, above = slowest.latency_us, numbers.latency(slowest.above_us)
    shares = [(one, one.mean_us / total) for one in slowest.parts if total]
    rows = [
        (delay_text(one), numbers.number(one.mean_us), numbers.percent(share))
        for one, share in shares
        if share >= LEAST_SHARE
    ]
    return Section(
        f"The slowest {numbers.percent(slowest.share)}",
        [
            Text(f"These requests took more than {above}, and {numbers.latency(total)} on average."),
            Chart(
                partial(charts.flame, slowest),
                f"The mean of the requests above {above}: stages, and below each its causes and culprits.",
            ),
            Table(("where", "mean µs", "of their time"), rows[:MOST]),
        ],
        "slowest",
    )


def _change(one: Advice) -> Item:
    share = numbers.percent(one.share_of_variance)
    gain = "" if one.predicted is None else f" {prediction_text(one.predicted)}"
    return Item(f"{one.change}: {share} of the variance, {one.why}.{gain}", hint=one.trial)


def _covariances(parts: Parts) -> Table:
    """Return the matrix; a cell is coloured by its share of the variance of latency."""
    variance = parts.latency.variance_us2.value or 1.0
    names = [STAGES[stage.stage] for stage in parts.stages]
    rows: list[list[str | Cell]] = [
        [name, *(Cell(numbers.number(cell), heat=min(1.0, abs(cell) / variance)) for cell in row)]
        for name, row in zip(names, parts.covariance_us2, strict=True)
    ]
    return Table(("stage", *names), rows)


def _groups(title: str, groups: Sequence[Group]) -> Section:
    rows = [
        (one.name, numbers.count(one.requests), numbers.number(one.mean_us), _deviation(one.variance_us2))
        for one in groups
    ]
    return Section(title, [Table(("group", "requests", "mean µs", "std µs"), rows)])


def _notes(doc: Trace) -> Iterator[Item]:
    for one in doc.unmatched:
        yield Item(f"{numbers.count(one.requests)} requests were not followed: {one.why}", "note", "note")
    for note in doc.notes:
        yield Item(note.text, "note", "note")


def _cost(doc: Trace) -> str:
    cost = doc.cost
    reader = cost.reader_ns / doc.counts.done / 1e3
    text = f"cost of the trace: {numbers.number(reader)} µs per request to read it"
    if cost.costed_requests > 0:
        probes = cost.probes_ns / cost.costed_requests / 1e3
        text += f", {numbers.number(probes)} µs in the probes (including the client's packets and the timing)"
    return f"{text}."
