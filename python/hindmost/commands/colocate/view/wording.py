"""How shares, notes and windows are written."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.commands.colocate.documents.profiles import Growth, Share
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


def windows_text(windows: int, window_ms: float, dropped: int, took_s: float) -> str:
    """Describe how many windows were made."""
    return f"{windows} windows of {window_ms:g} ms, {dropped} dropped, in {numbers.seconds(took_s)}"
