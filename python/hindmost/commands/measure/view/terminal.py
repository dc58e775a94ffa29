"""A measurement for the terminal, readable without colour, on a screen or in a log."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from hindmost.commands.measure.view import tables, view
from hindmost.commands.measure.view.account import account, format_estimates, print_rows
from hindmost.commands.measure.view.limits import LEVELS, limit_head
from hindmost.commands.measure.view.values import bounds, labels
from hindmost.core.escapes import plain
from hindmost.core.store.measure import Estimates, Measure
from hindmost.present import numbers
from hindmost.present.console import console_text, new_console, print_reason, print_text
from hindmost.present.document import clean

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"valid": "bold green", "invalid": "bold red", "inconclusive": "bold yellow"}
_SIGNS = {"inconclusive": "?", "invalid": "!"}
"""Sign after a figure that is not valid."""
SYMMETRIC = 0.25
"""An interval at most this wide, relative to its value, is written as ± its half-width."""
KEY_VALUE = {"get", "set"}
"""Kinds of requests in the built-in key-value workload."""
MOST_KINDS = 10
MOST = 3
"""Number of reasons shown. The page has all of them."""


def render_terminal(
    result: Mapping[str, Any],
    *,
    width: int | None = None,
    color: bool | None = None,
    verbose: bool = False,
) -> str:
    """Render a result for the terminal: the table first, then one reason per line, then the next command.

    Parameters
    ----------
    result
        Document ``hindmost.measure/2``.
    width
        Number of columns. Default: the terminal's, or 80.
    color
        Whether to use colour. Default: on a terminal, unless ``NO_COLOR`` is set.
    verbose
        Whether to add details of load, runs and client, and every single reason.
    """
    doc = cast(Measure, clean(result))
    console = new_console(width, color)
    _head(console, doc)
    _limits(console, doc)
    _quantiles(console, doc, verbose=verbose)
    _kinds(console, doc)
    if verbose:
        print_rows(console, account(doc))
        _reasons(console, doc)
    else:
        print_rows(console, _brief_account(doc))
        _causes(console, doc)
    return console_text(console)


def _head(console: "Console", doc: Measure) -> None:
    from rich.text import Text

    verdict = doc["verdict"]
    line = Text(view.verdict_word(doc), style=_STYLES.get(verdict, "bold"))
    asked = doc["throughput"]["requested"]
    load = f"{numbers.rate(asked).removesuffix('/s')} requests/s" if asked else "closed loop"
    for part in (view.target_line(doc), load, view.counted_runs(doc)):
        line.append(f"  {part}", style="default not bold")
    print_text(console, line, indent=2)
    console.print()


def _limits(console: "Console", doc: Measure) -> None:
    from rich.text import Text

    for one in doc.get("limits") or []:
        line = Text(limit_head(one), style=_STYLES[LEVELS[one["result"]]])
        line.append(f": {one['text']}", style="default not bold")
        print_text(console, line, indent=2)
    if doc.get("limits"):
        console.print()


def _quantiles(console: "Console", doc: Measure, *, verbose: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    groups = tables.latency_groups(doc)
    names = labels(*groups.values())
    if not names:
        console.print("no latency was recorded")
        return
    most = max(1, (console.width - 8) // 24)
    shown = list(groups) if verbose else [name for name in groups if name != "send_delay"]
    shown, hidden = shown[:most], [view.COLUMNS[name] for name in groups if name not in shown[:most]]
    out = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    out.add_column("")
    for name in shown:
        out.add_column(view.COLUMNS[name], justify="right", no_wrap=True)
        out.add_column("", justify="left", no_wrap=True)
    signs: set[str] = set()
    for label in names:
        row = [Text(label)]
        for name in shown:
            value, span, sign = _figure(groups[name], label)
            signs |= {sign} - {""}
            row += [
                Text(value, style="bold" if name == "latency" else ""),
                Text(f"{span} {sign}".strip(), style="dim"),
            ]
        out.add_row(*row)
    console.print(out)
    words = [f"{sign} {word}" for word, sign in _SIGNS.items() if sign in signs]
    notes = _table_notes(groups, shown) + ([", ".join(words)] if words else [])
    if hidden and verbose:
        notes.append(f"{' and '.join(hidden)}: shown in a wider terminal, or on the page")
    for line in notes:
        print_text(console, Text(line, style="dim"), indent=2)
    console.print()


def _figure(group: Estimates, label: str) -> tuple[str, str, str]:
    """Return a value with its unit; its interval, relative if it is narrow; the sign of its verdict."""
    value, low, high = bounds(group, label)
    one = group.get(label)
    sign = _SIGNS.get(one["verdict"], "") if one else ""
    text = numbers.latency(value)
    if value is None or value == math.inf or low is None or high is None:
        return text, "", sign
    half = (high - low) / 2.0
    if value > 0.0 and half <= SYMMETRIC * value:
        return text, f"±{numbers.percent(float(f'{half / value:.2g}'))}", sign
    return text, f"{numbers.latency(low)} .. {numbers.latency(high)}", sign


def _kinds(console: "Console", doc: Measure) -> None:
    """Print the figures of each request of a list, the most frequent first."""
    from rich.table import Table

    kinds = sorted(doc["by_kind"].items(), key=lambda one: -one[1]["counts"]["scheduled"])
    if len(kinds) < 2 or {kind for kind, _ in kinds} == KEY_VALUE:
        return
    shown = labels(*(one["latency_us"] for _, one in kinds))
    out = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    out.add_column("latency by request")
    for name in ("requests", "errors", *shown):
        out.add_column(name, justify="right", no_wrap=True)
    for kind, one in kinds[:MOST_KINDS]:
        counts = (numbers.count(one["counts"][of]) for of in ("scheduled", "errors"))
        figures = (_figure(one["latency_us"], label) for label in shown)
        out.add_row(kind, *counts, *(value + sign for value, _, sign in figures))
    console.print(out)
    if (more := len(kinds) - MOST_KINDS) > 0:
        console.print(f"  and {numbers.plural(more, 'more request')}: see the page", style="dim")
    console.print()


def _table_notes(groups: Mapping[str, Estimates], shown: Sequence[str]) -> list[str]:
    """Return what figures lack: an end, an interval, replies."""
    notes: dict[str, list[str]] = {}
    for label in labels(*groups.values()):
        for name in shown:
            one = tables.cell(groups[name], label, numbers.MICROSECONDS)
            if one.note:
                sign = f" {numbers.INFINITE}" if one.infinite else ""
                notes.setdefault(one.note, []).append(f"{view.COLUMNS[name]} {label}{sign}")
    if len(notes) == 1 and len(next(iter(notes.values()))) == len(shown) * len(labels(*groups.values())):
        return list(notes)
    return [f"{_few(where)}: {text}" for text, where in notes.items()]


def _few(words: Sequence[str]) -> str:
    return ", ".join(words) if len(words) <= 4 else f"{', '.join(words[:3])} and {len(words) - 3} more"


def _brief_account(doc: Measure) -> list[tuple[str, str]]:
    """Return what became of the load and of the runs, one line each."""
    load = view.throughput(doc)
    counts, (_, missing) = doc["counts"], view.accounting(doc["counts"])
    lost = [f"{numbers.count(counts[way])} {way}" for way in ("errors", "timeouts", "unsent") if counts[way]]
    if counts["errors"] and (which := view.error_codes(doc)):
        lost[0] += f" ({which})"
    if missing:
        lost.append(f"{numbers.count(missing)} NOT ACCOUNTED FOR")
    load += f"; {numbers.count(counts['scheduled'])} requests, {', '.join(lost) or 'all answered'}"
    if counts["misses"]:
        load += f", {numbers.count(counts['misses'])} not found"
    rows = [("load", load)]
    if full := view.saturation(doc):
        rows.append(("saturation", full))
    if (
        (found := doc.get("connections"))
        and view.connects_per_request(doc)
        and (connect := doc.get("connect_us"))
    ):
        rows.append(
            (
                "connect",
                f"{format_estimates('connect', connect)}, in latency; {numbers.count(found['made'])} made",
            )
        )
        if handshake := doc.get("handshake_us"):
            rows.append(
                ("handshake", f"{format_estimates('TLS', handshake)}, in latency; {view.handshakes(found)}")
            )
    if ended := view.early_end_text(doc):
        rows.append(("arrivals", ended))
    if lossy := view.datagrams(doc):
        rows.append(("datagrams", lossy))
    if unhandled := view.streams(doc):
        rows.append(("streams", unhandled))
    if batched := view.batches(doc):
        rows.append(("batches", batched))
    if (isolated := doc.get("isolated")) and (why := isolated["refused"]) and doc["verdict"] != "valid":
        rows.append(("isolated", f"none: {_clause(why['text'])}"))
    return rows


def _causes(console: "Console", doc: Measure) -> None:
    """Print one reason per line, the most serious first, then the next command."""
    from rich.text import Text

    if decided := view.decided_text(doc):
        print_text(console, Text(decided), indent=2)
    found = view.causes(doc)
    for cause in found[:MOST]:
        line = Text(f"{view.subject(doc, cause)}: ", style=_STYLES.get(cause["level"], "yellow"))
        line.append(_clause(cause["text"]), style="default not bold")
        print_text(console, line, indent=2)
    if len(found) > MOST:
        console.print(Text(f"and {len(found) - MOST} more: --verbose, or the page", style="dim"))
    grave = [cause for cause in found if cause["level"] != "note" or "quick-look" in cause["codes"]]
    hint = next((cause["hint"] for cause in grave if cause["hint"]), None)
    if hint and (doc["verdict"] != "valid" or doc["plan"].get("quick")):
        console.print(Text("next: ", style="cyan") + Text(plain(hint).replace("`", "")), soft_wrap=True)


def _clause(text: str) -> str:
    """Return the first part of a reason. The rest is in its account."""
    return text.partition("; ")[0]


def _reasons(console: "Console", doc: Measure) -> None:
    from rich.text import Text

    if doc["reasons"]:
        console.print()
    for reason in doc["reasons"]:
        line = Text(f"{reason['level']}: ", style=_STYLES.get(reason["level"], "yellow"))
        line.append(reason["text"], style="default not bold")
        print_text(console, line, indent=2)
        print_reason(console, None, reason["hint"], indent=2)
