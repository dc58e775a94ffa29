"""Losses of programs next to each other, and how well predictors do."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.commands.colocate.documents.pairs import PairLoss, Pairs, Skill
from hindmost.commands.colocate.view.wording import (
    LOST,
    interval,
    list_notes,
    percent,
    shade,
    windows_text,
)
from hindmost.present import numbers
from hindmost.present.blocks import Block, Cell, Only, Section, Table, Text, View


def view_pairs(doc: Pairs) -> View:
    """Show the matrix of losses, and the scores of predictors."""
    count = len(doc.programs)
    told = sum(one is not None and not one.noise for row in doc.lost for one in row)
    return View(
        title=f"{', '.join(doc.programs)} next to each other",
        tone="valid" if doc.above else "inconclusive",
        headline=f"{count} programs next to each other: {told} of {count**2} pairs show a significant loss,"
        f" the others are within the noise (of {percent(doc.noise)})",
        meta=(doc.processor.name, f"processors {doc.placement}"),
        blocks=list(_blocks(doc)),
        schema=doc.schema,
    )


def _blocks(doc: Pairs) -> Iterator[Block]:
    agree = "too few to compare" if doc.split_half is None else f"{doc.split_half:.2f}"
    if doc.split_half_told is not None:
        agree += f", {doc.split_half_told:.2f} over the significant ones"
    reading = Text(
        "Share of a program's rate (units per CPU second), relative to the inert stressor in the other's"
        " place, within rounds. Point at a cell to see its 95 % interval.",
        "muted",
    )
    yield Section(
        "Loss of each program next to each other one",
        [
            Table(
                ["", *doc.programs],
                [[name, *map(_cell, row)] for name, row in zip(doc.programs, doc.lost, strict=True)],
                caption="Programs (rows) next to programs (columns); * significant",
            ),
            Text(f"Correlation of odd rounds with even ones: {agree}."),
            Only("page", [reading]),
        ],
    )
    if doc.scores:
        rows = [
            (
                one.name,
                percent(one.error, 2),
                f"{percent(one.low, 2)} to {percent(one.high, 2)}",
                _skill(one),
            )
            for one in doc.scores
        ]
        reading = Text(
            "Mean absolute error, as a share of a rate. Each predictor is fitted to a random half of the"
            " programs and predicts the other half. Skill is 1 minus the ratio of its error to the best"
            " trivial predictor's error, for pairs that lose more than three times the noise.",
            "muted",
        )
        yield Section(
            "Accuracy of predictors",
            [
                Table(("predictor", "error", "middle 95 % of halves", "skill"), rows),
                Text(f"{doc.splits} random splits into training and test halves; {_best(doc)}."),
                Only("page", [reading]),
            ],
        )
    method = doc.method
    made = windows_text(method.windows, method.window_ms, method.dropped, method.took_s)
    kind = "real-time" if method.real_time else "ordinary"
    where = Text(f"{doc.processor.name}, processors {doc.placement}")
    how = Text(f"{made}; {kind} programs; random seed {method.seed}")
    yield Section("Measurement", [list_notes(doc.notes), Only("terminal", [where]), how])


def _cell(one: PairLoss | None) -> Cell:
    if one is None:
        return Cell(numbers.MISSING, "muted", hover=LOST)
    text = percent(one.value) + ("" if one.noise else "*")
    return shade(one.value, text, interval(one), significant=not one.noise)


def _skill(one: Skill) -> str:
    if one.trivial:
        return "trivial"
    return numbers.MISSING if one.skill is None else f"{one.skill:+.2f}"


def _best(doc: Pairs) -> str:
    ours = {one.name: one.skill for one in doc.scores if not one.trivial and one.skill is not None}
    if not ours:
        number = {0: "no pair loses", 1: "one pair loses"}.get(doc.above, f"{doc.above} pairs lose")
        return f"{number} more than three times the noise, so no predictor can show skill"
    best, skill = max(ours.items(), key=lambda one: one[1])
    if skill <= 0:
        return f"no model beats the best trivial one on the {doc.above} pairs above the noise"
    return f"on the {doc.above} pairs above the noise {best} has skill {skill:+.2f}"
