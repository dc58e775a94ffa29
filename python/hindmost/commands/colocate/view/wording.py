"""How shares, notes and windows are written."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.commands.colocate.documents.profiles import (
    AnsweredBy,
    Evidence,
    Growth,
    Share,
    SupervisedEvidence,
)
from hindmost.core.plan.units import format_us
from hindmost.core.store.types import Note
from hindmost.present import numbers
from hindmost.present.blocks import Cell, Item, Items

FULL = 0.5
"""Share from which on a cell has its darkest shade."""
LOST = "windows were lost"


def percent(share: float | None, places: int = 1) -> str:
    """Format a share."""
    if share is None:
        return numbers.MISSING
    return f"{numbers.number(round(100 * share, places) + 0.0, places)}{numbers.THIN}%"  # no negative zero


def interval(share: Share) -> str:
    """Format the interval of a share."""
    return f"[{percent(share.low)}, {percent(share.high)}]"


def share_cell(share: Share | None) -> Cell:
    """Show a share with its interval."""
    return Cell(LOST, "muted") if share is None else Cell(percent(share.value), detail=interval(share))


def growth_cells(growth: Growth) -> tuple[Cell, Cell]:
    """Show the growth of p50 and p99."""
    return share_cell(growth.p50), share_cell(growth.p99)


def shade(value: float, text: str, hover: str, *, significant: bool) -> Cell:
    """Show a share in a heat map."""
    heat = 0.6 * min(1.0, max(0.0, value) / FULL)
    return Cell(text, "strong" if significant else "muted", heat=heat, hover=hover)


def list_notes(notes: Sequence[Note]) -> Items:
    """Show notes."""
    return Items([Item(note.text, "note", "note") for note in notes])


def describe_evidence(by: AnsweredBy, evidence: Evidence) -> str:
    """Describe what an answer rests on, in a few words."""
    if by == "supervised" and evidence.supervised is not None:
        return f"{_hours(evidence.supervised)} under supervision"
    if by == "measured":
        return "this pair, measured"
    return f"{evidence.pairs} measured pairs" if by == "model" else "the two profiles alone"


def list_evidence(by: AnsweredBy, evidence: Evidence) -> Items:
    """Show what an answer rests on, and what was observed under supervision, even if it does not decide."""
    items = [Item(describe_evidence(by, evidence), "based on")]
    found = evidence.supervised
    if found is not None and (found.windows or found.least > 0):
        items.append(Item(_describe_supervised(found), "observed"))
    return Items(items)


def _hours(found: SupervisedEvidence) -> str:
    return f"{numbers.number(found.hours, 1)} h"


def _describe_supervised(found: SupervisedEvidence) -> str:
    """Describe supervised windows and the bounds that follow."""
    windows = numbers.plural(found.windows, "window")
    text = (
        f"{_hours(found)} with the job, {windows} of {found.window_s:g} s, worth {found.effective:.0f}"
        f" independent ones. p{found.percentile:g} exceeded {format_us(found.limit_us)}, or was about to, in"
        f" {percent(found.broken)}; in the long run in at most {percent(found.bound)} (95{numbers.THIN}%)"
    )
    if found.least > 0:
        text += f" and at least {percent(found.least)}"
    return f"{text}. {found.first} to {found.last} on {', '.join(found.hosts)}"


def windows_text(windows: int, window_ms: float, dropped: int, took_s: float) -> str:
    """Describe how many windows were made."""
    return f"{windows} windows of {window_ms:g} ms, {dropped} dropped, in {numbers.seconds(took_s)}"
