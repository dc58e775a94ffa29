"""Answers whether jobs may run next to a server."""

from __future__ import annotations

from hindmost.commands.colocate.documents.pairs import Answer, Neighbours
from hindmost.commands.colocate.view.wording import list_notes, percent
from hindmost.present import numbers
from hindmost.present.blocks import Block, Item, Items, Table, Tone, View

_TONES: dict[str, Tone] = {"yes": "valid", "no": "invalid", "unknown": "inconclusive"}


def view_answer(doc: Answer) -> View:
    """Show the answer for one job."""
    blocks: list[Block] = [list_notes(doc.notes)]
    if doc.answer == "unknown":
        measure = "hindmost colocate predict SERVER JOB --measure"
        blocks.append(Items([Item("The pair can be measured.", hint=measure)]))
    return View(
        title=f"{doc.job} next to {doc.server}",
        word=doc.answer,
        tone=_TONES[doc.answer],
        headline=f"{doc.job} next to {doc.server}. {_allowed(doc)}{_why(doc)}.",
        blocks=blocks,
    )


def _allowed(doc: Answer) -> str:
    return (
        f"A percentile may grow by {percent(doc.within, 0)} at a load of {percent(doc.load, 0)}, so"
        f" {percent(doc.allowed)} of the rate may be lost"
    )


def _why(doc: Answer) -> str:
    if doc.by == "measured":
        return f"; the measured loss of the pair is {percent(doc.expected)}"
    if doc.by == "model":
        return (
            f"; the predicted loss is {percent(doc.expected)}, with a margin for {percent(doc.violations, 0)}"
            " of violations"
        )
    return (
        f", and next to the job it loses up to {percent(doc.worst)} by {doc.measure} (mostly by"
        f" {doc.stressor or 'no stressor'})"
    )


def view_neighbours(doc: Neighbours) -> View:
    """Show the answers for several jobs, the best first."""
    first = doc.jobs[0]
    rows = [
        (
            one.job,
            one.answer,
            one.by,
            "unknown" if one.expected is None else percent(one.expected),
            percent(one.worst),
            one.stressor or numbers.MISSING,
        )
        for one in doc.jobs
    ]
    notes = {note.text: note for one in doc.jobs for note in one.notes}
    return View(
        title=f"Neighbours of {doc.server}",
        headline=f"The best neighbour of {doc.server} is {first.job}. {_allowed(first)}.",
        blocks=[
            Table(("job", "allowed", "by", "expected", "at most", "mostly by"), rows, "<<<>><"),
            list_notes(list(notes.values())),
        ],
        schema=doc.schema,
    )


def prometheus_text(doc: Answer) -> str:
    """Format an answer in the text format of Prometheus."""
    labels = f'job="{_escape(doc.job)}",server="{_escape(doc.server)}"'
    value = {"yes": 1, "no": 0, "unknown": -1}[doc.answer]
    rows = (
        ("allowed", "Whether a job may run next to a server: 1 yes, 0 no, -1 unknown.", value),
        ("loss_bound", "Upper bound of the share of its rate that the server loses.", doc.worst),
    )
    return "".join(
        f"# HELP hindmost_colocation_{name} {what}\n# TYPE hindmost_colocation_{name} gauge\n"
        f"hindmost_colocation_{name}{{{labels}}} {figure:g}\n"
        for name, what, figure in rows
    )


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
