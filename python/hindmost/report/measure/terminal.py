"""A measurement for the terminal: readable without colour, on a screen or in a log."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from hindmost.report.common import numbers
from hindmost.report.common.console import console_of, hinted, printed, text_of
from hindmost.report.common.document import clean
from hindmost.report.common.writing import VERDICT_MARKS
from hindmost.report.measure import tables, view
from hindmost.report.measure.account import account, briefly, told
from hindmost.report.measure.limits import LEVELS, head
from hindmost.store.measure import Measure

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"valid": "bold green", "invalid": "bold red", "inconclusive": "bold yellow"}
MOST = 3
"""So many causes are told beside that of the headline."""


def render_terminal(
    result: Mapping[str, Any],
    *,
    width: int | None = None,
    color: bool | None = None,
    verbose: bool = False,
) -> str:
    """Write a result for the terminal: verdict, why, what to do, then the figures with their intervals.

    It fits one screen: a line by cause, those beyond the gravest counted; the page has the account.

    Parameters
    ----------
    result
        Document ``hindmost.measure/1``.
    width
        Columns; of the terminal when not given, 100 where there is none.
    color
        Whether to colour; when not given, on a terminal and unless ``NO_COLOR`` is set.
    verbose
        With the account of load, runs and instrument, and every reason by itself.

    """
    doc = cast(Measure, clean(result))
    console = console_of(width, color)
    _head(console, doc)
    _limits(console, doc)
    _quantiles(console, doc, verbose=verbose)
    if verbose:
        told(console, account(doc))
        _reasons(console, doc)
    else:
        told(console, _brief_account(doc))
        _causes(console, doc)
    return text_of(console)


def _head(console: "Console", doc: Measure) -> None:
    from rich.text import Text

    verdict = doc["verdict"]
    line = Text(
        f"{VERDICT_MARKS.get(verdict, '?')} {view.verdict_word(doc)}", style=_STYLES.get(verdict, "bold")
    )
    line.append(f"  {view.target_line(doc)}", style="default not bold")
    printed(console, line, indent=2)
    if doc["headline"]:
        printed(console, Text(" ".join(view.headline(doc)).rstrip()))
    console.print()


def _limits(console: "Console", doc: Measure) -> None:
    from rich.text import Text

    for one in doc.get("limits") or []:
        line = Text(head(one), style=_STYLES[LEVELS[one["result"]]])
        line.append(f": {one['text']}", style="default not bold")
        printed(console, line, indent=2)
    if doc.get("limits"):
        console.print()


def _quantiles(console: "Console", doc: Measure, *, verbose: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = tables.quantile_table(doc)
    if not table.rows:
        console.print("no latency was recorded")
        return
    shown = table.columns[: max(1, (console.width - 12) // 26)]
    out = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False, header_style="bold")
    out.add_column("")
    for name in shown:
        out.add_column(f"{name} {table.unit.name}", justify="right", no_wrap=True)
        out.add_column("interval", justify="left", no_wrap=True)
    out.add_column("runs", justify="right")
    for row in table.rows:
        cells: list[Text] = [Text(row.label)]
        for name in shown:
            one = row.cells[name]
            bold = "bold" if name == "latency" else ""
            star = "*" if one.verdict not in ("valid", "", doc["verdict"]) else ""
            cells.append(Text(one.interval.value + star, style=bold))
            known = (one.interval.low, one.interval.high) != (numbers.MISSING, numbers.MISSING)
            cells.append(Text(f"[{one.interval.low}, {one.interval.high}]" if known else "", style="dim"))
        out.add_row(*cells, Text(row.runs))
    console.print(out)
    for line in _table_notes(table, doc["verdict"]):
        printed(console, Text(line, style="dim"), indent=2)
    if verbose and (hidden := [view.COLUMNS[name] for name in table.columns if name not in shown]):
        text = f"{' and '.join(hidden)}: in a wider terminal, or in the page"
        console.print(Text(text, style="dim"))
    console.print()


def _table_notes(table: tables.Table, verdict: str) -> list[str]:
    notes: dict[str, list[str]] = {}
    starred: dict[str, list[str]] = {}
    for row in table.rows:
        for name, one in row.cells.items():
            if one.note:
                sign = f" {numbers.INFINITE}" if one.infinite else ""
                notes.setdefault(one.note, []).append(f"{name} {row.label}{sign}")
            if one.verdict not in ("valid", "", verdict):
                starred.setdefault(one.verdict, []).append(f"{name} {row.label}")
    out = [table.note] if table.note else []
    out += [f"{_few(where)}: {text}" for text, where in notes.items()]
    return out + [f"* {word}: {_few(where)}" for word, where in starred.items()]


def _few(words: Sequence[str]) -> str:
    return ", ".join(words) if len(words) <= 4 else f"{', '.join(words[:3])} and {len(words) - 3} more"


def _brief_account(doc: Measure) -> list[tuple[str, str]]:
    """What became of the load and of the runs, in a line each."""
    load = view.throughput(doc)
    counts, (_, missing) = doc["counts"], view.accounting(doc["counts"])
    lost = [f"{numbers.count(counts[way])} {way}" for way in ("errors", "timeouts", "unsent") if counts[way]]
    if counts["errors"] and (which := view.error_codes(doc)):
        lost[0] += f" ({which})"
    if missing:
        lost.append(f"{numbers.count(missing)} NOT ACCOUNTED FOR")
    load += f"; {numbers.count(counts['due'])} requests, {', '.join(lost) or 'all answered'}"
    if counts["misses"]:
        load += f", {numbers.count(counts['misses'])} not found"
    rows = [("load", load)]
    if full := view.saturation(doc):
        rows.append(("saturation", full))
    if (found := doc.get("connections")) and view.by_turns(doc) and (connect := doc.get("connect_us")):
        rows.append(
            ("connect", f"{briefly('connect', connect)}, in latency; {numbers.count(found['made'])} made")
        )
        if handshake := doc.get("handshake_us"):
            rows.append(("handshake", f"{briefly('TLS', handshake)}, in latency; {view.handshakes(found)}"))
    if ended := view.ended(doc):
        rows.append(("arrivals", ended))
    if lossy := view.datagrams(doc):
        rows.append(("datagrams", lossy))
    if unhandled := view.streams(doc):
        rows.append(("streams", unhandled))
    if batched := view.batches(doc):
        rows.append(("batches", batched))
    rows.append(("runs", view.counted_runs(doc)))
    if (calm := doc.get("calm")) and (why := calm["refused"]) and doc["verdict"] != "valid":
        rows.append(("calm", f"none: {_clause(why['text'])}"))
    return rows


def _causes(console: "Console", doc: Measure) -> None:
    """The causes beyond the headline's, in a line or two each, as many as matter."""
    from rich.text import Text

    found = view.causes(doc)
    if doc["verdict"] == "valid":  # the headline tells of a quick look
        found = [cause for cause in found if "quick-look" not in cause["codes"]]
    else:  # it tells the gravest
        found = found[1:]
    for cause in found[:MOST]:
        line = Text(f"{cause['level']}: ", style=_STYLES.get(cause["level"], "yellow"))
        line.append(_clause(cause["text"]), style="default not bold")
        printed(console, line, indent=2)
        if cause["level"] != "note":
            hinted(console, None, cause["hint"], indent=2)
    more = len(found) - MOST
    if more > 0:
        text = f"and {more} more: --verbose, or the page"
        console.print(Text(text, style="dim"))


def _clause(text: str) -> str:
    """What a reason says first; the rest is in its account."""
    return text.partition("; ")[0]


def _reasons(console: "Console", doc: Measure) -> None:
    from rich.text import Text

    if doc["reasons"]:
        console.print()
    for reason in doc["reasons"]:
        line = Text(f"{reason['level']}: ", style=_STYLES.get(reason["level"], "yellow"))
        line.append(reason["text"], style="default not bold")
        printed(console, line, indent=2)
        hinted(console, None, reason["hint"], indent=2)
