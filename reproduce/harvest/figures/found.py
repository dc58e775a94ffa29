"""What a figure gives: its row of the card, and curves."""

from __future__ import annotations

from dataclasses import dataclass, field

from reproduce.harvest.document import CardEntry, Curve, CurvePoint, Series


@dataclass(frozen=True)
class Found:
    """A figure as it comes out here."""

    entry: CardEntry
    curves: list[Curve] = field(default_factory=list)


def entry(figure: str, paper: str, ours: str, verdict: str) -> CardEntry:
    """Make a row of the card."""
    return {"figure": figure, "paper": paper, "ours": ours, "verdict": verdict}


def series(name: str, points: list[CurvePoint]) -> Series:
    """Make a line of a figure."""
    return {"name": name, "points": points}


def spread(one: CurvePoint, form: str) -> str:
    """A mean with its range over seeds, in words."""
    if one["low"] == one["high"]:
        return format(one["mean"], form)
    return f"{format(one['mean'], form)} ({format(one['low'], form)} to {format(one['high'], form)})"
