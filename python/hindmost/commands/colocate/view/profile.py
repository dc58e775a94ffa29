"""A profile."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.commands.colocate.documents.profiles import LoadedServer, Profile
from hindmost.commands.colocate.view.wording import (
    growth_cells,
    list_notes,
    percent,
    share_cell,
    windows_text,
)
from hindmost.present import numbers
from hindmost.present.blocks import Block, Section, Table, Text, View


def view_profile(card: Profile) -> View:
    """Show what a program loses to each stressor, and what the stressor loses."""
    return View(
        title=f"Profile of {card.name}",
        headline=f"{card.name} on {card.processor.name}, processors {card.placement}:"
        f" {numbers.number(card.rate_per_s)} {card.method.unit} per CPU second (middle half"
        f" ±{percent(card.spread / 2)})",
        blocks=list(_blocks(card)),
        schema=card.schema,
    )


def _blocks(card: Profile) -> Iterator[Block]:
    axes = [
        (axis.stressor, share_cell(axis.sensitivity), share_cell(axis.contentiousness)) for axis in card.axes
    ]
    yield Table(
        ("stressor", "program loses", "stressor loses"), [("(inert)", share_cell(card.presence), ""), *axes]
    )
    if card.loaded:
        rows = [(axis.stressor, *growth_cells(axis.latency)) for axis in card.axes if axis.latency]
        yield Table(
            ("stressor", "p50 grows by", "p99 grows by"),
            [("(inert)", *growth_cells(card.loaded.presence)), *rows],
            caption=f"{numbers.rate(card.loaded.requested_per_s)}: {describe_load(card.loaded)}",
        )
    method = card.method
    noise = Text(f"Losses below {percent(card.noise)} are within the noise.")
    known = any(axis.sensitivity is not None for axis in card.axes)
    made = Text(windows_text(method.windows, method.window_ms, method.dropped, method.took_s))
    yield Section("Measurement", [*([noise] if known else []), list_notes(card.notes), made])


def describe_load(loaded: LoadedServer) -> str:
    """Describe a server under load, next to the inert stressor."""
    return (
        f"{percent(loaded.busy, 0)} of its processor, p50 {numbers.latency(loaded.p50_us)}, p99"
        f" {numbers.latency(loaded.p99_us)} next to the inert stressor; {numbers.count(loaded.failed)} of"
        f" {numbers.count(loaded.requests)} requests failed"
    )
