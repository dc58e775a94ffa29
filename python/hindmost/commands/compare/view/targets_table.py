"""The table of a comparison of targets, shared by the terminal view and the page."""

import math
from typing import NamedTuple

from hindmost.commands.compare.documents.targets import Comparison, Contrast, Side
from hindmost.core.store.estimates import Value
from hindmost.present import numbers
from hindmost.present.document import finite

IN_WORDS = {
    "same": "the same",
    "different": "different",
    "undecided": "not decided",
    "invalid": "invalid",
}


class Row(NamedTuple):
    """One percentile of an arm and of the first; ``alone`` and ``replica`` are unadjusted p-values."""

    name: str
    side: str
    first: str
    second: str
    ratio: str
    difference: str
    p: str
    alone: str
    replica: str
    word: str
    kind: str


class Line(NamedTuple):
    """The contrast of one percentile of one arm; `place` is the arm's index in ``sides``."""

    name: str
    figure: str
    place: int
    contrast: Contrast
    isolated: bool


def lines(document: Comparison) -> list[Line]:
    """Return the contrasts of all percentiles and arms, first of latency, then of isolated latency."""
    found = []
    for isolated in (False, True):
        tables = [one["isolated"] if isolated else one["latency"] for one in document["against"]]
        for figure in sorted({figure for table in tables for figure in table}, key=numbers.label_order):
            name = f"isolated {figure}" if isolated else figure
            found += [
                Line(name, figure, place, table[figure], isolated)
                for place, table in enumerate(tables, 1)
                if figure in table
            ]
    return found


def rows(document: Comparison) -> list[Row]:
    """Return `lines` formatted for a table."""
    return [_row(document, line) for line in lines(document)]


def _row(document: Comparison, line: Line) -> Row:
    first, second = document["sides"][0], document["sides"][line.place]
    figures = [side["isolated_us"] if line.isolated else side["latency_us"] for side in (first, second)]
    before, after = (_latency(one.get(line.figure)) for one in figures)
    one = line.contrast
    return Row(
        name=line.name,
        side=second["label"],
        first=before,
        second=after,
        ratio=_ratio(one),
        difference=_difference(one),
        p=p(one["adjusted"]),
        alone=p(one["p"]),
        replica=p(one["p_textbook"]),
        word=_describe_word(one),
        kind=one["word"],
    )


def _latency(estimate: Value | None) -> str:
    return numbers.MISSING if estimate is None else numbers.latency(estimate["value"])


def _ratio(one: Contrast) -> str:
    ratio = one["ratio"]
    if ratio["low"] is None:
        return _factor(ratio["value"])
    return f"{_factor(ratio['value'])} [{_factor(ratio['low'])}, {_factor(ratio['high'])}]"


def _factor(value: float | None) -> str:
    if value is None or value == math.inf:
        return numbers.number(value)
    return f"{value:.3f}" if value < 2.0 else f"{value:.3g}"


def _difference(one: Contrast) -> str:
    found = one["difference_us"]
    if found["value"] is None or math.isinf(found["value"]):
        return numbers.number(found["value"])
    known = [us for us in (found["value"], found["low"], found["high"]) if us is not None]
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
    if one["word"] != "undecided":
        return one["word"]
    return "not comparable" if one["why"] else "not decided"


def side_line(side: Side) -> str:
    """Return one line about an arm: target, rate, runs and verdict."""
    rate = "flat out" if side["rate_per_s"] is None else numbers.rate(side["rate_per_s"])
    runs = numbers.plural(len(side["runs"]), "run")
    if side["made"] != len(side["runs"]):
        runs += f" of {side['made']}"
    return f"{side['target']['name']} at {rate}, {runs}, {side['verdict']}"
