"""The table of a comparison of targets, and the lines that its charts share."""

from __future__ import annotations

import math
from typing import NamedTuple

from hindmost.commands.compare.documents.targets import Comparison, Contrast, Word
from hindmost.core.store.estimates import Value
from hindmost.present import numbers
from hindmost.present.blocks import Cell, Table, Tone
from hindmost.present.numbers import finite

WORDS: dict[Word, Tone] = {
    "slower": "invalid",
    "faster": "valid",
    "same": "valid",
    "undecided": "inconclusive",
}
LABEL_WIDTH = 16
"""Greatest width of an arm's label in the table."""


class Line(NamedTuple):
    """The contrast of one percentile of one arm; `place` is the arm's index in ``sides``."""

    name: str
    figure: str
    place: int
    contrast: Contrast
    isolated: bool


def lines(doc: Comparison) -> list[Line]:
    """Return the contrasts of all percentiles and arms, those of the latency that decides first."""
    found = []
    decides = any(one.decided_on == "isolated" for one in doc.against)
    for isolated in (decides, not decides):
        tables = [one.isolated if isolated else one.latency for one in doc.against]
        for figure in sorted({figure for table in tables for figure in table}, key=numbers.label_order):
            name = f"isolated {figure}" if isolated else figure
            found += [
                Line(name, figure, place, table[figure], isolated)
                for place, table in enumerate(tables, 1)
                if figure in table
            ]
    return found


def percentiles(doc: Comparison) -> Table:
    """Return a row per percentile and arm: both latencies, their ratio, and the conclusion.

    The difference follows the ratio if there are two arms. With more, `details` has it.
    """
    first, *others = (numbers.cut(side.label, LABEL_WIDTH) for side in doc.sides)
    several = len(others) > 1
    rows: list[list[str | Cell]] = [
        [
            line.name,
            *([others[line.place - 1]] if several else []),
            *(_latency(doc, place, line) for place in (0, line.place)),
            _ratio(line.contrast),
            *([] if several else [_difference(line.contrast.difference_us)]),
            p(line.contrast.adjusted),
            Cell(_describe_word(line.contrast), WORDS[line.contrast.word]),
        ]
        for line in lines(doc)
    ]
    if several:
        return Table(("", "against", first, "latency", "ratio", "p", ""), rows, "<<>>>><")
    return Table(("", first, *others, "ratio", "difference", "p", ""), rows, "<>>>>><")


def details(doc: Comparison) -> Table:
    """Return the unadjusted p-values, those of the textbook's test, and the adjusted ones."""
    several = len(doc.sides) > 2
    tests = ("flipping signs", "Wilcoxon") if doc.how == "live" else ("relabelling runs", "Mann–Whitney")
    heads = ("", *(("arm", "difference") if several else ()), *tests, "adjusted")
    rows = []
    for line in lines(doc):
        one = line.contrast
        arm = (doc.sides[line.place].label, _difference(one.difference_us)) if several else ()
        rows.append((line.name, *arm, p(one.p), p(one.p_textbook), p(one.adjusted)))
    return Table(heads, rows, "<<>>>>" if several else "")


def _latency(doc: Comparison, place: int, line: Line) -> str:
    side = doc.sides[place]
    estimate = (side.isolated_us if line.isolated else side.latency_us).get(line.figure)
    return numbers.MISSING if estimate is None else numbers.latency(estimate.value)


def _ratio(one: Contrast) -> str:
    ratio = one.ratio
    if ratio.low is None:
        return _factor(ratio.value)
    return f"{_factor(ratio.value)} [{_factor(ratio.low)}, {_factor(ratio.high)}]"


def _factor(value: float | None) -> str:
    if value is None or value == math.inf:
        return numbers.number(value)
    return f"{value:.3f}" if value < 2.0 else f"{value:.3g}"


def _difference(found: Value) -> str:
    if found.value is None or math.isinf(found.value):
        return numbers.number(found.value)
    known = [us for us in (found.value, found.low, found.high) if us is not None]
    unit = numbers.unit_for([10.0 * abs(us) for us in known])
    places = numbers.decimals(max(abs(us) for us in finite(known)) / unit.us)
    value, *ends = (numbers.number(us / unit.us, places) for us in known)
    sign = "+" if known[0] > 0 else ""
    span = f" [{ends[0]}, {ends[1]}]" if len(ends) == 2 else ""
    return f"{sign}{value}{span}{numbers.THIN}{unit.name}"


def p(value: float | None) -> str:
    """Format a p-value.

    >>> p(0.0421), p(0.0002)
    ('.042', '<.001')
    """
    if value is None:
        return numbers.MISSING
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _describe_word(one: Contrast) -> str:
    if one.word != "undecided":
        return one.word
    return "not comparable" if one.why else "not decided"
