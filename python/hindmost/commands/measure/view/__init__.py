"""What a measurement shows. The terminal has the answer, the page everything, Markdown a summary."""

from __future__ import annotations

from hindmost.commands.measure.view import brief, sections, tables, wording
from hindmost.commands.measure.view.account import outcomes
from hindmost.commands.measure.view.limits import limit_section
from hindmost.core.store.measure import Measure
from hindmost.present import numbers, page, terminal
from hindmost.present.blocks import Block, Item, Items, Only, Section, Text, View, tone_of
from hindmost.present.writing import moment

__all__ = ["render_page", "render_terminal", "view"]

MOST_REASONS = 5
"""Number of reasons in Markdown, the most serious first."""


def view(doc: Measure, *, verbose: bool = False) -> View:
    """Return the view of a measurement, also of an earlier version's document.

    Parameters
    ----------
    verbose
        Whether the terminal shows all details of load, runs and client, and every single reason.
    """
    target = wording.target_line(doc.target)
    asked = doc.throughput.requested
    load = f"{numbers.rate(asked).removesuffix('/s')} requests/s" if asked else "closed loop"
    clients = f" with {numbers.plural(doc.clients.count, 'client')}" if doc.clients.count else ""
    meta = (
        target,
        ", ".join(text for text in (wording.throughput(doc), wording.saturation(doc)) if text),
        numbers.plural(len(doc.runs), "run") + clients,
        moment(doc.created),
        f"study {doc.study}",
    )
    return View(
        title=f"{doc.verdict}: {target}",
        word=f"{doc.verdict} (quick look)" if doc.plan.get("quick") else doc.verdict,
        tone=tone_of(doc.verdict),
        headline=wording.title(doc),
        subject=(target, load, wording.counted_runs(doc)),
        meta=meta,
        schema=doc.schema,
        blocks=[
            Only("terminal", brief.blocks(doc, verbose=verbose)),
            Only("page", sections.blocks(doc)),
            Only("markdown", _summary(doc)),
        ],
    )


def _summary(doc: Measure) -> list[Block]:
    """Return the summary for a CI job: limits, latency with intervals, and the most serious reasons."""
    reasons = [Item(one.text, one.level) for one in doc.reasons]
    more = len(reasons) - MOST_REASONS
    left_out = f"and {more} more, on the page `report.html`" if more > 0 else ""
    return [
        Text(" ".join(wording.headline(doc)).strip()),
        limit_section(doc),
        *tables.quantile_table(doc),
        Text(f"Throughput: {wording.throughput(doc)}."),
        Items([Item(text, key) for key, text in outcomes(doc)]),
        Section("Reasons", [Items(reasons[:MOST_REASONS]), Text(left_out)]),
        Text(f"study `{doc.study}`, {moment(doc.created)}, Hindmost {doc.version}"),
    ]


def render_page(document: Measure) -> str:
    """Render the page of a measurement: one HTML file that needs no network."""
    return page.render_page(view(document))


def render_terminal(
    document: Measure, *, width: int | None = None, color: bool | None = None, verbose: bool = False
) -> str:
    """Render a measurement for the terminal.

    Parameters
    ----------
    width
        Number of columns. Default: the terminal's, or 80.
    color
        Whether to use colour. Default: on a terminal, unless ``NO_COLOR`` is set.
    verbose
        Whether to add details of load, runs and client, and every single reason.
    """
    return terminal.render_terminal(view(document, verbose=verbose), width=width, color=color)
