"""Results and findings for the terminal: readable without colour, on a screen or in a log."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from hindmost.report.common import numbers
from hindmost.report.common.document import complete, labels, plain
from hindmost.report.measure import view
from hindmost.store.measure import Estimates, Measure

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_STYLES = {"valid": "bold green", "invalid": "bold red", "inconclusive": "bold yellow"}
_MARK_STYLES = {"fine": "green", "mind": "yellow", "unfit": "bold red"}
_KEY = 12
_STAND_IN = "\ue000"


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
    doc = complete(result)
    console = _console(width, color)
    _head(console, doc)
    _quantiles(console, doc)
    _facts(console, doc)
    _reasons(console, doc)
    return _text(console)


def render_findings(
    findings: Sequence[Mapping[str, Any]], *, width: int | None = None, color: bool | None = None
) -> str:
    """Write what ``hindmost doctor`` found: a line each, worst first, with why and a hint where it matters.

    Parameters
    ----------
    findings
        Dicts with ``id``, ``title``, ``value``, ``mark`` (fine, mind, unfit), ``why``, ``hint``.
    width, color
        As for :func:`render_terminal`.

    """
    from rich.text import Text

    console = _console(width, color)
    order = {"unfit": 0, "mind": 1, "fine": 2}
    rows = sorted(findings, key=lambda f: order.get(str(f.get("mark")), 1))
    room = max((len(plain(str(f.get("title", "")))) for f in rows), default=0)
    for finding in rows:
        mark = str(finding.get("mark", "mind"))
        line = Text(f"{view.FINDING_MARKS.get(mark, '!')} {mark:<6}", style=_MARK_STYLES.get(mark, "yellow"))
        line.append(f"{plain(str(finding.get('title', ''))):<{min(room, 28)}}  ", style="default not bold")
        line.append(
            plain(view.written("", finding.get("value"))), style="bold" if mark != "fine" else "default"
        )
        _print(console, line, indent=8)
        if mark != "fine":
            _note(console, finding.get("why"), finding.get("hint"), indent=8)
    counts = [f"{sum(1 for f in rows if f.get('mark') == mark)} {mark}" for mark in ("unfit", "mind", "fine")]
    console.print(Text(", ".join(counts)), style="dim")
    return _text(console)


def _console(width: int | None, color: bool | None) -> "Console":
    from rich.console import Console

    on_screen = sys.stdout.isatty()
    if color is None:
        color = on_screen and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns if on_screen else 100
    return Console(
        file=StringIO(),
        width=max(40, width),
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )


def _text(console: "Console") -> str:
    file = console.file
    assert isinstance(file, StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _print(console: "Console", text: "Text | str", *, indent: int = 0) -> None:
    """Print, wrapped lines hanging below the first by ``indent``."""
    from rich.text import Text

    text = Text(text) if isinstance(text, str) else text
    for number, line in enumerate(_wrapped(console, text, console.width - indent)):
        console.print(Text(" " * indent if number else "") + line, soft_wrap=True)


def _wrapped(console: "Console", text: "Text", width: int) -> "list[Text]":
    """Break into lines, never inside a number: a stand-in takes the place of its no-break spaces."""
    text.plain = text.plain.replace(numbers.THIN, _STAND_IN)
    lines = list(text.wrap(console, width))
    for line in lines:
        line.plain = line.plain.replace(_STAND_IN, numbers.THIN)
    return lines


def _head(console: "Console", doc: Measure) -> None:
    from rich.text import Text

    verdict = doc["verdict"]
    line = Text(f"{view.VERDICT_MARKS.get(verdict, '?')} {verdict}", style=_STYLES.get(verdict, "bold"))
    line.append(f"  {view.target_line(doc)}", style="default not bold")
    _print(console, line, indent=2)
    if doc["headline"]:
        _print(console, Text(" ".join(view.headline(doc)).rstrip()))
    console.print()


def _quantiles(console: "Console", doc: Measure) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = view.quantile_table(doc)
    if not table.rows:
        console.print("no latency was recorded")
        return
    narrow = console.width < 26 * len(table.columns) + 12
    out = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False, header_style="bold")
    out.add_column("")
    for name in table.columns[: 1 if narrow else None]:
        out.add_column(f"{name} {table.unit.name}", justify="right", no_wrap=True)
        out.add_column("interval", justify="left", no_wrap=True)
    out.add_column("runs", justify="right")
    for row in table.rows:
        cells: list[Text] = [Text(row.label)]
        for name in table.columns[: 1 if narrow else None]:
            one = row.cells[name]
            bold = "bold" if name == "latency" else ""
            star = "*" if one.verdict not in ("valid", "", doc["verdict"]) else ""
            cells.append(Text(one.interval.value + star, style=bold))
            known = (one.interval.low, one.interval.high) != (numbers.MISSING, numbers.MISSING)
            cells.append(Text(f"[{one.interval.low}, {one.interval.high}]" if known else "", style="dim"))
        out.add_row(*cells, Text(row.runs))
    console.print(out)
    for line in _table_notes(table, doc["verdict"]):
        _print(console, Text(line, style="dim"), indent=2)
    if narrow:
        console.print(Text("service latency and slip: in a wider terminal, or in the page", style="dim"))
    console.print()


def _table_notes(table: view.Table, verdict: str) -> list[str]:
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
    if proved := view.proof_text(doc):
        rows.append(("capture", f"{proved}; what we measured less what tcpdump saw:"))
        for one in view.proofs(doc):
            rows.append((f"  {one.what}", f"{one.gaps}: {one.constancy}"))
    if merged:
        rows.append(("merged", ", ".join(merged) + " (all runs and clients thrown together, for contrast)"))
    label = _telling(doc)
    if label:
        rows.append(("variance", f"{label} {view.variance_text(label, doc)}"))
    if doc["hysteresis"]["text"]:
        rows.append(("hysteresis", doc["hysteresis"]["text"]))
    rows.append(("clients", clients_text(doc)))
    if account := view.instrument_text(doc):
        rows.append(("instrument", account))
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
        for number, line in enumerate(_wrapped(console, Text(value), console.width - _KEY)):
            console.print(Text(f"{'' if number else key:<{_KEY}}", style="bold") + line, soft_wrap=True)


def _briefly(name: str, group: Estimates) -> str:
    """Write a group of estimates in one line."""
    table = view.estimate_table({name: group})
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
        _print(console, line, indent=2)
        _note(console, None, reason["hint"], indent=2)


def _note(console: "Console", why: str | None, hint: str | None, *, indent: int) -> None:
    """Print why, and ``hint:`` on a line of its own, unwrapped so that a command can be copied whole."""
    from rich.text import Text

    pad = " " * indent
    if why:
        for line in _wrapped(console, Text(plain(why)), console.width - indent):
            console.print(Text(pad) + line, soft_wrap=True)
    if hint:
        console.print(
            Text(pad) + Text("hint: ", style="cyan") + Text(plain(hint).replace("`", "")), soft_wrap=True
        )
