"""Required limits, for standard error, terminal, page and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.core.escapes import plain
from hindmost.core.store.measure import Limit, Measure
from hindmost.present.blocks import Item, Items, Section, Tone, View

MARKS = {"held": "✓", "crossed": "✕", "undecided": "?"}
"""The marks of verdicts."""
TONES: dict[str, Tone] = {"held": "valid", "crossed": "invalid", "undecided": "inconclusive"}


def limit_lines(limits: Sequence[Limit]) -> tuple[str, ...]:
    """Return one line per limit, and a hint if there is one. Empty without limits."""
    texts: list[str] = []
    for one in limits:
        texts.append(plain(f"limit {one.limit} {one.result}: {one.text}"))
        if one.hint:
            texts.append(plain(f"hint: {one.hint.replace('`', '')}"))
    return tuple(texts)


def brief_limits(doc: Measure) -> Items:
    """Return the limits for the terminal, whose standard error has the hints."""
    return Items(
        [
            Item(one.text, f"{MARKS[one.result]} {one.limit} {one.result}", TONES[one.result])
            for one in doc.limits or []
        ]
    )


def limit_section(doc: Measure) -> Section:
    """Return the limits with their hints."""
    return Section("Limits", [_items(doc.limits or [])])


def unmeasured_view(target: str, limits: list[Limit]) -> View:
    """Return the view of a measurement that failed."""
    return View(f"not measured: {target}", "not measured", "invalid", target, [_items(limits)])


def _items(limits: list[Limit]) -> Items:
    return Items(
        [
            Item(
                f"`{one.limit}`: {one.text}",
                f"{MARKS[one.result]} {one.result}",
                TONES[one.result],
                one.hint,
            )
            for one in limits
        ]
    )
