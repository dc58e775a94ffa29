"""Answers whether jobs may run next to a server."""

from __future__ import annotations

from hindmost.commands.colocate.documents.pairs import Answer, Neighbours
from hindmost.commands.colocate.view.wording import describe_evidence, list_evidence, list_notes, percent
from hindmost.core.escapes import escape_label
from hindmost.core.plan.units import format_us
from hindmost.present import numbers
from hindmost.present.blocks import Block, Item, Items, Table, Tone, View

_TONES: dict[str, Tone] = {"yes": "valid", "no": "invalid", "unknown": "inconclusive"}


def view_answer(doc: Answer) -> View:
    """Show the answer for one job."""
    blocks: list[Block] = [list_evidence(doc.by, doc.evidence), list_notes(doc.notes)]
    if doc.answer == "unknown":
        measure = "hindmost colocate predict SERVER JOB --measure"
        learn = "hindmost colocate supervise SERVER JOB --promise LIMIT --learn SERVER.json"
        blocks.append(Items([Item("The pair can be measured.", hint=measure)]))
        blocks.append(Items([Item("Or run the job under supervision, and learn from it.", hint=learn)]))
    return View(
        title=f"{doc.job} next to {doc.server}",
        word=doc.answer,
        tone=_TONES[doc.answer],
        headline=f"{doc.job} next to {doc.server}. {_observed(doc) or _allowed(doc) + _why(doc)}.",
        blocks=blocks,
    )


def _allowed(doc: Answer) -> str:
    return (
        f"A percentile may grow by {percent(doc.within, 0)} at a load of {percent(doc.load, 0)}, so"
        f" {percent(doc.allowed)} of the rate may be lost"
    )


def _observed(doc: Answer) -> str:
    """Explain an answer that rests on supervised windows; return nothing for other answers."""
    found = doc.evidence.supervised
    if doc.by != "supervised" or found is None:
        return ""
    least, most = percent(found.least), percent(found.bound)
    shares = {"yes": f"at most {most}", "no": f"at least {least}", "unknown": f"{least} to {most}"}
    return (
        f"Under supervision, p{found.percentile:g} exceeds {format_us(found.limit_us)} in"
        f" {shares[doc.answer]} of windows; {percent(doc.violations, 0)} are acceptable"
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
            describe_evidence(one.by, one.evidence),
        )
        for one in doc.jobs
    ]
    notes = {note.text: note for one in doc.jobs for note in one.notes}
    return View(
        title=f"Neighbours of {doc.server}",
        headline=f"The best neighbour of {doc.server} is {first.job}. {_allowed(first)}.",
        blocks=[
            Table(("job", "allowed", "by", "expected", "at most", "mostly by", "based on"), rows, "<<<>><<"),
            list_notes(list(notes.values())),
        ],
        schema=doc.schema,
    )


def prometheus_text(doc: Answer) -> str:
    """Format an answer in the text format of Prometheus."""
    labels = f'job="{escape_label(doc.job)}",server="{escape_label(doc.server)}"'
    value = {"yes": 1, "no": 0, "unknown": -1}[doc.answer]
    rows: list[tuple[str, str, float]] = [
        ("allowed", "Whether a job may run next to a server: 1 yes, 0 no, -1 unknown.", value),
        ("loss_bound", "Upper bound of the share of its rate that the server loses.", doc.worst),
        ("pairs", "Measured pairs that the answer rests on.", doc.evidence.pairs),
    ]
    if (found := doc.evidence.supervised) is not None:
        bound = "Upper 95 % bound of the share of windows that break the promise."
        rows += [
            ("supervised_hours", "Supervised hours with the job at the load in question.", found.hours),
            ("violations_bound", bound, found.bound),
        ]
    lines = [(name, what, labels, figure) for name, what, figure in rows]
    by = (
        "What decided: supervised windows, the measured pair, a model of pairs, or the bound of two profiles."
    )
    lines.append(("answered_by", by, f'{labels},by="{doc.by}"', 1))
    return "".join(
        f"# HELP hindmost_colocation_{name} {what}\n# TYPE hindmost_colocation_{name} gauge\n"
        f"hindmost_colocation_{name}{{{own}}} {figure:g}\n"
        for name, what, own, figure in lines
    )
