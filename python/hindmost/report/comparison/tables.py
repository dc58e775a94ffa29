"""Rows of a comparison that terminal and page have in common."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from hindmost.report.common import numbers
from hindmost.report.common.document import finite
from hindmost.store.comparison import Against, Comparison, Contrast, Side

IN_WORDS = {
    "same": "the same",
    "different": "different",
    "undecided": "not decided",
    "invalid": "invalid",
}


class Row(NamedTuple):
    """One percentile of one side next to the first, written."""

    name: str
    side: str
    first: str
    second: str
    ratio: str
    difference: str
    p: str
    alone: str
    twin: str
    word: str
    kind: str


def rows(document: Comparison) -> list[Row]:
    """All percentiles of all sides; calm ones below."""
    return [*_rows(document, "latency"), *_rows(document, "calm")]


def _rows(document: Comparison, what: str) -> Iterator[Row]:
    first = document["sides"][0]
    names = dict.fromkeys(name for one in document["against"] for name in _table(one, what))
    for name in sorted(names, key=numbers.label_order):
        for one, side in zip(document["against"], document["sides"][1:], strict=True):
            found = _table(one, what).get(name)
            if found is not None:
                head = f"isolated {name}" if what == "calm" else name
                yield Row(
                    name=head,
                    side=side["label"],
                    first=_value(first, what, name),
                    second=_value(side, what, name),
                    ratio=ratio(found),
                    difference=difference(found),
                    p=p(found["adjusted"]),
                    alone=p(found["p"]),
                    twin=p(found["p_twin"]),
                    word=word(found),
                    kind=found["word"],
                )


def _table(one: Against, what: str) -> dict[str, Contrast]:
    return one["calm"] if what == "calm" else one["latency"]


def _value(side: Side, what: str, name: str) -> str:
    estimate = (side["calm_us"] if what == "calm" else side["latency_us"]).get(name)
    return numbers.MISSING if estimate is None else numbers.latency(estimate["value"])


def ratio(one: Contrast) -> str:
    """Write a ratio and its interval."""
    found = one["ratio"]
    if found["low"] is None:
        return _times(found["value"])
    return f"{_times(found['value'])} [{_times(found['low'])}, {_times(found['high'])}]"


def _times(value: float | None) -> str:
    if value is None or value == math.inf:
        return numbers.number(value)
    return f"{value:.3f}" if value < 2.0 else f"{value:.3g}"


def difference(one: Contrast) -> str:
    """Write a difference with its interval, in one unit."""
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


def p(found: float | None) -> str:
    """Write a p-value."""
    if found is None:
        return numbers.MISSING
    return "<.001" if found < 0.001 else f"{found:.3f}".removeprefix("0")


def word(one: Contrast) -> str:
    """Write what follows."""
    if one["word"] != "undecided":
        return one["word"]
    return "not comparable" if one["why"] else "not decided"


def side_line(side: Side) -> str:
    """Say of a side what was measured, with how many runs."""
    rate = "flat out" if side["rate_per_s"] is None else numbers.rate(side["rate_per_s"])
    runs = numbers.plural(len(side["runs"]), "run")
    if side["made"] != len(side["runs"]):
        runs += f" of {side['made']}"
    return f"{side['target']['name']} at {rate}, {runs}, {side['verdict']}"
