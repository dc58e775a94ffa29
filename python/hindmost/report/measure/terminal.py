"""A measurement for the terminal: readable without colour, on a screen or in a log."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from hindmost.report.common import numbers
from hindmost.report.common.console import console_of, hinted, printed, text_of, wrapped
from hindmost.report.common.document import clean
from hindmost.report.common.writing import VERDICT_MARKS
from hindmost.report.measure import instrument, proof, tables, view
from hindmost.report.measure.values import labels
from hindmost.store.measure import Estimates, Measure

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"valid": "bold green", "invalid": "bold red", "inconclusive": "bold yellow"}
_KEY = 12


def render_terminal(result: Mapping[str, Any], *, width: int | None = None, color: bool | None = None) -> str:
    """Write a result for the terminal: verdict, why, what to do, then the figures with their intervals.

    Parameters
    ----------
    result
        Document ``hindmost.measure/1``.
    width
        Columns; of the terminal when not given, 100 where there is none.
    color
        Whether to colour; when not given, on a terminal and unless ``NO_COLOR`` is set.

    """
    doc = cast(Measure, clean(result))
    console = console_of(width, color)
    _head(console, doc)
    _quantiles(console, doc)
    _facts(console, doc)
    _reasons(console, doc)
    return text_of(console)


def _head(console: "Console", doc: Measure) -> None:
    from rich.text import Text

    verdict = doc["verdict"]
    line = Text(f"{VERDICT_MARKS.get(verdict, '?')} {verdict}", style=_STYLES.get(verdict, "bold"))
    line.append(f"  {view.target_line(doc)}", style="default not bold")
    printed(console, line, indent=2)
    if doc["headline"]:
        printed(console, Text(" ".join(view.headline(doc)).rstrip()))
    console.print()


def _quantiles(console: "Console", doc: Measure) -> None:
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
    if hidden := [view.COLUMNS[name] for name in table.columns if name not in shown]:
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


def _facts(console: "Console", doc: Measure) -> None:
    rows: list[tuple[str, str]] = [("throughput", view.throughput(doc))]
    if full := view.saturation(doc):
        rows.append(("saturation", full))
    if calm := view.calm_text(doc):
        rows.append(("calm", calm))
    text, missing = view.accounting(doc["counts"])
    if missing:
        text += f"; {numbers.count(missing)} NOT ACCOUNTED FOR"
    if doc["counts"]["misses"]:
        text += f" ({numbers.count(doc['counts']['misses'])} of the done missed)"
    rows.append(("requests", text))
    merged = [
        f"{label} {numbers.latency(doc['merged_us'][label], missing=numbers.INFINITE)}"
        for label in labels(doc["merged_us"])
        if label != "mean"
    ]
    if doc["wire_us"]:
        rows.append(("wire", f"{_briefly('wire', doc['wire_us'])}, {view.stamps_text(doc)}"))
    if overhead := doc.get("overhead_us"):
        rows.append(("overhead", f"{_briefly('client', overhead)} of service latency, by the same"))
    if proved := proof.proof_text(doc):
        rows.append(("capture", f"{proved}; what we measured less what tcpdump saw:"))
        for one in proof.proofs(doc):
            rows.append((f"  {one.what}", f"{one.gaps}: {one.constancy}"))
    if merged:
        rows.append(("merged", ", ".join(merged) + " (all runs and clients thrown together, for contrast)"))
    if aside := view.set_aside(doc):
        rows.append(("set aside", aside))
    if both := tables.both_table(doc):
        other = both.columns[1]
        about = f"; {doc['over_runs']['claims']}" if other == "mean" else ""
        rows.append((other, f"{_briefly(other, doc['over_runs']['beside_us'])}, over runs{about}"))
    if off := view.runs_off(doc):
        rows.append(("runs off", "; ".join(off)))
    label = _telling(doc)
    if label:
        rows.append(("variance", f"{label} {view.variance_text(label, doc)}"))
    if doc["hysteresis"]["text"]:
        rows.append(("hysteresis", doc["hysteresis"]["text"]))
    rows.append(("clients", clients_text(doc)))
    if seen := instrument.lines(doc):
        rows.append(("instrument", "the worst client of each, mean over runs"))
        rows += [(f"  {key}", text) for key, text in seen]
    if doc["stopping"]["rule"]:
        how = {True: "reached", False: "not reached", None: "not asked for"}[doc["stopping"]["reached"]]
        rows.append(
            (
                "stopping",
                f"{how} after {view.runs_text(doc)}: {doc['stopping']['rule']}",
            )
        )
    from rich.text import Text

    for key, value in rows:
        for number, line in enumerate(wrapped(console, Text(value), console.width - _KEY)):
            console.print(Text(f"{'' if number else key:<{_KEY}}", style="bold") + line, soft_wrap=True)


def _briefly(name: str, group: Estimates) -> str:
    """Write a group of estimates in one line."""
    table = tables.estimate_table({name: group})
    parts = []
    for row in table.rows:
        one = row.cells[name].interval
        if row.label != "mean":
            bounds = f" [{one.low}, {one.high}]" if one.low else ""
            parts.append(f"{row.label} {one.value}{bounds}")
    return f"{', '.join(parts)} {table.unit.name}"


def _telling(doc: Measure) -> str | None:
    """Pick the quantile whose variance is told: the one that ended the runs, or the last that has one."""
    known = labels(doc["variance"])
    wanted = doc["stopping"]["quantile"]
    return wanted if wanted in known else known[-1] if known else None


def clients_text(doc: Measure) -> str:
    """Say how many instances there were and who contributed the slowest samples."""
    clients = doc["clients"]
    if clients["instances"] < 2:
        return "one instance only: nothing to tell apart"
    shares = " + ".join(numbers.percent(share) for share in clients["share_of_slowest"])
    text = f"{clients['instances']} instances"
    if clients["pacing"] == "sleep":
        text += " that sleep between due times"
    if shares:
        where = f" (above {numbers.latency(clients['threshold_us'])})" if clients["threshold_us"] else ""
        text += f"; of the slowest 1 %{where} they contribute {shares}"
    return text if clients["owner"] is None else f"{text}: instance {clients['owner']} owns the tail"


def _reasons(console: "Console", doc: Measure) -> None:
    from rich.text import Text

    if doc["reasons"]:
        console.print()
    for reason in doc["reasons"]:
        line = Text(f"{reason['level']}: ", style=_STYLES.get(reason["level"], "yellow"))
        line.append(reason["text"], style="default not bold")
        printed(console, line, indent=2)
        hinted(console, None, reason["hint"], indent=2)
