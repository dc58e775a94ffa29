"""Result of a figure: its row of the card, and curves."""

from __future__ import annotations

from dataclasses import dataclass, field

from reproduce.harvest.document import CardEntry, Curve, CurvePoint, Series


@dataclass(frozen=True)
class FigureResult:
    """One figure as reproduced here."""

    entry: CardEntry
    curves: list[Curve] = field(default_factory=list)


def entry(figure: str, paper: str, ours: str, verdict: str) -> CardEntry:
    """Create a row of the card."""
    return {"figure": figure, "paper": paper, "ours": ours, "verdict": verdict}


def series(name: str, points: list[CurvePoint]) -> Series:
    """Create a line of a figure."""
    return {"name": name, "points": points}


def spread(one: CurvePoint, form: str) -> str:
    """Format a mean with its range over seeds."""
    if one["low"] == one["high"]:
        return format(one["mean"], form)
    return f"{format(one['mean'], form)} ({format(one['low'], form)} to {format(one['high'], form)})"
