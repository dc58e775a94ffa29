"""Comparisons of targets (``hindmost.compare/2``): the terminal view and the page."""

from functools import partial
from typing import TYPE_CHECKING, cast

from hindmost.commands.compare.view import targets_charts as charts
from hindmost.commands.compare.view.targets_table import IN_WORDS, rows, side_line
from hindmost.present import numbers, writing
from hindmost.present.console import console_text, new_console, print_reason, print_text
from hindmost.present.document import clean
from hindmost.present.overlay import colour
from hindmost.present.sheet import drawing, render

if TYPE_CHECKING:
    from rich.console import Console

    from hindmost.commands.compare.documents.targets import Comparison

VERDICT_STYLES = {
    "same": "bold green",
    "different": "bold yellow",
    "undecided": "bold yellow",
    "invalid": "bold red",
}
WORD_STYLES = {"slower": "bold red", "faster": "bold green", "same": "green", "undecided": "yellow"}
RESULT_STYLES = {"held": "green", "crossed": "bold red", "undecided": "yellow"}
LABEL_WIDTH = 10
"""Greatest width of a label, in columns."""
MOST_DIFFERENCES = 4
"""Differences that are written with their values; the others are only named."""

VERDICT_CLASSES = {
    "same": "valid",
    "different": "inconclusive",
    "undecided": "inconclusive",
    "invalid": "invalid",
}
"""CSS classes of verdicts."""
RESULT_CLASSES = {"held": "valid", "crossed": "invalid", "undecided": "inconclusive"}
"""CSS classes of the results of limits."""
MOST_RUNS_CHARTS = 3


def render_comparison(document: "Comparison", *, width: int | None = None, color: bool | None = None) -> str:
    """Write a document ``hindmost.compare/2`` for the terminal."""
    from rich.text import Text

    doc = cast("Comparison", clean(document))
    console = new_console(width, color)
    head = Text(IN_WORDS[doc["verdict"]], style=VERDICT_STYLES[doc["verdict"]])
    print_text(console, head + Text(f"  {doc['headline']}", style="default not bold"), indent=2)
    console.print()
    label_width = max(len(side["label"]) for side in doc["sides"]) + 2
    for side in doc["sides"]:
        print_text(console, f"{side['label']:<{label_width}}{side_line(side)}", indent=label_width)
    _table(console, doc)
    _limits(console, doc)
    for reason in doc["reasons"]:
        print_text(console, f"{reason['level']}: {reason['text']}", indent=2)
        print_reason(console, None, reason["hint"], indent=2)
    _differences(console, doc)
    return console_text(console)


def _table(console: "Console", doc: "Comparison") -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    first, *others = doc["sides"]
    several = len(others) > 1
    out = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1),
        collapse_padding=True,
        show_edge=False,
        header_style="bold",
    )
    out.add_column("", no_wrap=True)
    if several:
        out.add_column("against", no_wrap=True)
    second = "latency" if several else others[0]["label"]
    heads = (first["label"], second, "ratio", *(() if several else ("difference",)), "p")
    for name in heads:
        out.add_column(numbers.cut(name, LABEL_WIDTH), justify="right", no_wrap=True)
    out.add_column("", no_wrap=True)
    for row in rows(doc):
        cells = [
            row.name,
            *([numbers.cut(row.side, 2 * LABEL_WIDTH)] if several else []),
            row.first,
            row.second,
        ]
        cells += [row.ratio, *([] if several else [row.difference]), row.p]
        out.add_row(*map(Text, cells), Text(row.word, style=WORD_STYLES[row.kind]))
    console.print(out)
    how = "interleaved pairs of runs" if doc["how"] == "live" else "runs"
    console.print(
        Text(
            f"{numbers.percent(doc['confidence'])} intervals over {how}, by ranks; p adjusted for all rows;"
            f" same: within {numbers.percent(doc['margin'])}",
            style="dim",
        ),
        soft_wrap=True,
    )
    if doc.get("left_out"):
        print_text(
            console,
            f"{numbers.plural(len(doc['left_out']), 'round')} excluded: {doc['left_out'][0]['text']}",
            indent=2,
        )


def _limits(console: "Console", doc: "Comparison") -> None:
    from rich.text import Text

    for limit in doc["limits"]:
        line = Text(f"{limit['result']}: ", style=RESULT_STYLES[limit["result"]])
        print_text(
            console, line + Text(f"{limit['text']}: {limit['said']}", style="default not bold"), indent=2
        )


def _differences(console: "Console", doc: "Comparison") -> None:
    found = doc["unlike"]
    for one in found[:MOST_DIFFERENCES]:
        print_text(console, f"differs: {one['what']}: {' / '.join(one['values'])}", indent=2)
    if len(found) > MOST_DIFFERENCES:
        rest = ", ".join(one["what"] for one in found[MOST_DIFFERENCES:])
        print_text(console, f"also differs: {rest}", indent=2)


def render_comparison_page(document: "Comparison") -> str:
    """Write the page: one HTML file that needs no network and no scripts."""
    doc = cast("Comparison", clean(document))
    names = sorted(doc["against"][0]["latency"], key=numbers.label_order)
    shown = [name for name in names if name != "mean"][-MOST_RUNS_CHARTS:]
    return render(
        "comparison.html",
        doc=doc,
        words=IN_WORDS[doc["verdict"]],
        mark=VERDICT_CLASSES[doc["verdict"]],
        results=RESULT_CLASSES,
        rows=rows(doc),
        several=len(doc["sides"]) > 2,
        sides=[(side, colour(place), side_line(side)) for place, side in enumerate(doc["sides"])],
        isolated=any(one["isolated"] for one in doc["against"]),
        hint_parts=writing.hint_parts,
        distributions=drawing(partial(charts.distributions, doc)),
        ratios=drawing(partial(charts.ratios, doc)),
        runs=[(name, drawing(partial(charts.runs, doc, name))) for name in shown],
    )
