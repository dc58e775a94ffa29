"""Tables of quantiles with their intervals, and the notes below them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from hindmost.commands.measure.view.values import bounds, labels
from hindmost.commands.measure.view.wording import COLUMNS
from hindmost.core.store.measure import Estimate, Estimates, Measure
from hindmost.present import numbers
from hindmost.present.blocks import Block, Cell, Table, Text
from hindmost.present.numbers import Unit, finite

Write = Callable[[float | None, float | None, float | None], tuple[str, str]]
"""Formats value, low and high as a value and its interval."""
SIGNS = {"inconclusive": "?", "invalid": "!"}
"""Sign after a figure that is not valid."""
SYMMETRIC = 0.25
"""An interval at most this wide, relative to its value, is written as ± its half-width."""


def latency_groups(doc: Measure) -> dict[str, Estimates]:
    """Return the estimates of each available kind of time."""
    isolated = doc.isolated
    groups = {
        "latency": doc.latency_us,
        "isolated": isolated.latency_us if isolated and isolated.interruptions else {},
        "service": doc.service_us,
        "send_delay": doc.send_delay_us,
    }
    return {name: group for name, group in groups.items() if group or name == "latency"}


def other_groups(doc: Measure, *names: str) -> dict[str, Estimates]:
    """Return the estimates of messages and sessions, or of those in `names`; empty if none was measured."""
    groups = {
        "first_message": doc.first_message_us,
        "message_gap": doc.message_gap_us,
        "session": doc.session_us,
    }
    return {name: group for name, group in groups.items() if group and (not names or name in names)}


def brief_table(groups: Mapping[str, Estimates]) -> list[Block]:
    """Return the table of the terminal, in which each figure has its own unit, and notes."""
    if not any(groups.values()):
        return [Text("no latency was recorded")]
    return [replace(_table(groups, write_briefly), least=2), *_notes(groups)]


def estimate_table(
    groups: Mapping[str, Estimates | None],
    caption: str,
    more: Mapping[str, Callable[[str], str]] | None = None,
    below: Sequence[Sequence[str]] = (),
) -> list[Block]:
    """Return a table of the groups that were measured, in one unit, and notes. Empty if there are none.

    Parameters
    ----------
    more
        Further columns: the text of each quantile.
    below
        Further rows.
    """
    known = {name: group for name, group in groups.items() if group is not None}
    if not any(known.values()):
        return []
    unit = _unit(known)
    table = _table(known, partial(_write, unit), more)
    return [replace(table, rows=[*table.rows, *below], caption=f"{caption}, in {unit.name}"), *_notes(known)]


def quantile_table(doc: Measure) -> list[Block]:
    """Return the main table of the page: all kinds of time, the runs, and the figures of merged samples."""
    groups = latency_groups(doc)
    unit = _unit(groups)

    def merged(label: str) -> str:
        us = doc.merged_us.get(label)
        return numbers.number(None if us is None else us / unit.us)

    more = {
        "latency ±": lambda label: numbers.interval(*bounds(doc.latency_us, label), unit).half_share,
        "runs": lambda label: next(str(group[label].runs) for group in groups.values() if label in group),
        "merged": merged,
    }
    return estimate_table(groups, "Value [low, high], a 95 % interval over runs", more)


def write_briefly(value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    """Format a value with its unit, and its interval: relative if it is narrow."""
    text = numbers.latency(value)
    if value is None or value == math.inf or low is None or high is None:
        return text, ""
    half = (high - low) / 2.0
    if value > 0.0 and half <= SYMMETRIC * value:
        return text, f"±{numbers.percent(float(f'{half / value:.2g}'))}"
    return text, f"{numbers.latency(low)} .. {numbers.latency(high)}"


def format_estimates(group: Estimates) -> str:
    """Format a group of estimates in one line, without the mean."""
    unit = _unit({"": group})
    figures = [
        f"{label} {' '.join(_write(unit, *bounds(group, label))).strip()}"
        for label in labels(group)
        if label != "mean"
    ]
    return f"{', '.join(figures)} {unit.name}"


def _write(unit: Unit, value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    shown = numbers.interval(value, low, high, unit)
    is_known = (shown.low, shown.high) != (numbers.MISSING, numbers.MISSING)
    return shown.value, f"[{shown.low}, {shown.high}]" if is_known else ""


def _unit(groups: Mapping[str, Estimates]) -> Unit:
    ends = (v for group in groups.values() for label in group for v in bounds(group, label)[:2])
    return numbers.unit_for(finite(ends))


def _table(
    groups: Mapping[str, Estimates], write: Write, more: Mapping[str, Callable[[str], str]] | None = None
) -> Table:
    more = more or {}
    rows: list[Sequence[str | Cell]] = [
        (
            label,
            *(_cell(name, group, label, write) for name, group in groups.items()),
            *(text(label) for text in more.values()),
        )
        for label in labels(*groups.values())
    ]
    return Table(("", *(COLUMNS.get(name, name) for name in groups), *more), rows)


def _cell(name: str, group: Estimates, label: str, write: Write) -> Cell:
    text, interval = write(*bounds(group, label))
    sign = SIGNS.get(group[label].verdict, "") if label in group else ""
    return Cell(text, "strong" if name == "latency" else "", f"{interval} {sign}".strip())


def _notes(groups: Mapping[str, Estimates]) -> list[Text]:
    """Return what figures lack (an end, an interval, replies), and what the signs mean."""
    places: dict[str, list[str]] = {}
    for label in labels(*groups.values()):
        for name, group in groups.items():
            if label in group and (note := _note(group[label])):
                sign = f" {numbers.INFINITE}" if group[label].value == math.inf else ""
                places.setdefault(note, []).append(f"{COLUMNS.get(name, name)} {label}{sign}")
    is_shared = [len(where) for where in places.values()] == [sum(map(len, groups.values()))]
    notes = list(places) if is_shared else [f"{_few(where)}: {note}" for note, where in places.items()]
    verdicts = {one.verdict for group in groups.values() for one in group.values()}
    signs = [f"{sign} {word}" for word, sign in SIGNS.items() if word in verdicts]
    return [Text(line, "muted") for line in (*notes, ", ".join(signs)) if line]


def _note(one: Estimate) -> str:
    """Return why an estimate is infinite or has no interval. Empty if it has one."""
    censored = one.censored_runs or 0
    if censored:
        return f"{numbers.plural(censored, 'run')} reached unsent or timed-out requests"
    if one.value == math.inf:
        return "infinitely late"
    if one.value is not None and (one.low is None or one.high is None):
        return "1 run: no interval" if one.runs == 1 else "no interval"
    return ""


def _few(words: Sequence[str]) -> str:
    return ", ".join(words) if len(words) <= 4 else f"{', '.join(words[:3])} and {len(words) - 3} more"
