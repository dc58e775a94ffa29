"""Words of an attribution: terms, settings, verdicts, p-values, times with a sign."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hindmost.report.common import numbers
from hindmost.report.common.numbers import MISSING, THIN, Unit

if TYPE_CHECKING:
    from hindmost.store.attribution import Attribution, Effect, Factor, Levels, Load, Ratio

VERDICTS = {
    "raises": "raises",
    "lowers": "lowers",
    "negligible": "too small to matter",
    "undecided": "undecided",
}
ADJUSTMENTS = {
    "romano-wolf": "by Romano and Wolf's step-down, which draws all runs anew, thousands of times, as if no"
    " factor did anything, and counts how often the largest of all effects looks as large",
    "holm": "by Holm's procedure, which multiplies each p by how many are still in question",
    "false-discovery": "by Benjamini and Hochberg's rule for screenings, which holds down the share of false"
    " alarms among all suspects",
}
"""How p-values are adjusted for all terms, quantiles and loads together, for who has not met the names."""
MARKS = {"raises": "▲", "lowers": "▼", "negligible": "·", "undecided": "?"}
SHOWN = ("raises", "lowers")
TIMES = " × "
OUTCOMES = {"confirmed": "valid", "refuted": "invalid", "undecided": "inconclusive"}
"""Colours of a confirmation."""
_MANY_TIMES = 9.0
"""A share beyond which it is written how many times as long something is."""
_MOST_TIMES = 1000.0
"""Beyond, a ratio only says that nothing is known."""
STATES = {"answered": ("✓", "valid"), "open": ("?", "inconclusive"), "invalid": ("✕", "invalid")}
"""Mark and colour of a whole attribution."""


class Written(NamedTuple):
    """A figure and its interval, in the unit and the decimals of its column."""

    value: str
    interval: str
    """``[low, high]``, or nothing where no interval is known."""


def column(
    rows: Sequence[tuple[float | None, float | None, float | None]],
    *,
    sign: bool = False,
    unit: Unit | None = None,
) -> tuple[Unit, list[Written]]:
    """Write value, low and high (in us) of each row alike: two digits of the shortest half interval.

    >>> unit, (one, two) = column([(-29.04, -36.0, -22.1), (4.2, -9.7, 18.1)], sign=True)
    >>> unit.name, one, two
    ('µs', Written(value='−29.0', interval='[−36.0, −22.1]'), Written(value='+4.2', interval='[−9.7, +18.1]'))
    """
    known = [abs(v) for row in rows for v in row if v is not None and math.isfinite(v)]
    unit = unit or numbers.unit_for(known)
    halves = [
        (high - low) / 2 / unit.us
        for _, low, high in rows
        if low is not None and high is not None and 0 < high - low < math.inf
    ]
    largest = max(known, default=0.0) / unit.us
    places = numbers.decimals(min(halves), 2) if halves else numbers.decimals(largest)
    places = min(places, numbers.decimals(largest, 4))

    def one(us: float | None) -> str:
        return number(None if us is None else us / unit.us, places, sign=sign)

    return unit, [
        Written(one(value), "" if low is None and high is None else f"[{one(low)}, {one(high)}]")
        for value, low, high in rows
    ]


def number(value: float | None, places: int, *, sign: bool = False) -> str:
    """Write a number with fixed decimals, and a plus where it is asked for; never minus nothing."""
    if value is None or not math.isfinite(value):
        return numbers.number(value)
    text = numbers.grouped(f"{value:.{places}f}")
    if not text.strip("−0."):
        return text.lstrip("−")
    return f"+{text}" if sign and value > 0 else text


def percent(share: float | None) -> str:
    r"""Write a signed share; of what is more than ten times as long, how many times.

    >>> percent(-0.0817), percent(0.224), percent(0.0004), percent(None), percent(2.4e9), percent(30.0)
    ('−8.2\u202f%', '+22\u202f%', '0.0\u202f%', '–', '> 1000×', '31×')
    """
    if share is None or not math.isfinite(share):
        return MISSING
    if share > _MANY_TIMES:
        return f"{_ratio(1.0 + share)}×"
    return f"{number(100 * share, 1 if abs(share) < 0.0995 else 0, sign=True)}{THIN}%"


def p_value(p: float | None) -> str:
    """Write a p-value to three decimals.

    >>> p_value(0.0001), p_value(0.0412), p_value(1.0), p_value(None)
    ('<0.001', '0.041', '1', '–')
    """
    if p is None:
        return MISSING
    if p < 0.0005:
        return "<0.001"
    return "1" if p > 0.9995 else f"{p:.3f}"


def tick(us: float, *, sign: bool = False) -> str:
    r"""Write a round time for an axis that may be negative.

    >>> tick(-20.0), tick(5.0, sign=True), tick(0.0, sign=True)
    ('−20\u202fµs', '+5\u202fµs', '0\u202fµs')
    """
    if us < 0:
        return f"−{numbers.tick(-us)}"
    return f"+{numbers.tick(us)}" if sign and us > 0 else numbers.tick(us)


def share_tick(share: float, *, ratio: bool = False) -> str:
    r"""Write a round share for an axis; on an axis of ratios from double on how many times.

    >>> share_tick(-0.05), share_tick(0.005), share_tick(0.0), share_tick(4.0, ratio=True)
    ('−5\u202f%', '+0.5\u202f%', '0\u202f%', '5×')
    """
    if ratio and share >= 1.0:
        return f"{1.0 + share:g}×"
    whole = abs(100 * share - round(100 * share)) < 1e-9
    return f"{number(100 * share, 0 if whole else 1, sign=True)}{THIN}%"


def ratio(one: "Ratio | None") -> str:
    """Write a ratio and its interval, each to what it is worth: hundredths, or two digits below a tenth.

    >>> ratio({"value": 0.5713, "low": 0.509, "high": 0.634})
    '0.57 [0.51, 0.63]'
    >>> ratio({"value": 0.0213, "low": 1e-5, "high": 248125835784.0})
    '0.021 [<0.001, > 1000]'
    """
    if one is None or one["value"] is None:
        return MISSING
    text = _ratio(one["value"])
    return text if one["low"] is None else f"{text} [{_ratio(one['low'])}, {_ratio(one['high'])}]"


def _ratio(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return numbers.number(value)
    if 0.0 < value < 0.0005:
        return "<0.001"
    if value > _MOST_TIMES:
        return f"> {_MOST_TIMES:g}"
    return number(value, 3 if value < 0.1 else 2 if value < 10 else 0)


def verdict(effect: "Effect") -> str:
    """Say what follows for one term."""
    return VERDICTS[effect["verdict"]]


def shown(effect: "Effect") -> bool:
    """Tell whether an effect was shown, among all the terms, quantiles and loads that were looked at."""
    return effect["verdict"] in SHOWN


def delta(document: "Attribution") -> str:
    """Write the smallest effect that matters."""
    share, us = document["delta"], document["delta_us"]
    return f"±{numbers.latency(us) if share is None else numbers.percent(share)}"


def band(document: "Attribution", effects: "Sequence[Effect]") -> float:
    """Give the smallest effect that matters as a share of what the effects of a table are shares of."""
    if document["delta"] is not None:
        return document["delta"]
    base = next((one["value"] for one in effects if not one["factors"]), None)
    return (document["delta_us"] or 0.0) / base if base else 0.0


def term(effect: "Effect", factors: Mapping[str, "Factor"]) -> str:
    """Name a term: a factor with its change of level; factors that interact, with levels where need be."""
    names, levels = effect["factors"], effect["levels"]
    if len(names) == 1 and names[0] in factors:
        return f"{names[0]}: {factors[names[0]]['levels'][0]} → {levels[0]}"
    return TIMES.join(
        f"{name} = {level}" if name in factors and len(factors[name]["levels"]) > 2 else name
        for name, level in zip(names, levels, strict=True)
    )


def few(texts: Sequence[str], most: int = 2) -> str:
    """List a few of many, and say how many more there are.

    >>> few(["a", "b"]), few(["a", "b", "c", "d"])
    ('a, b', 'a, b and 2 more')
    """
    more = len(texts) - most
    return ", ".join(texts) if more <= 0 else f"{', '.join(texts[:most])} and {more} more"


def setting(levels: "Levels") -> str:
    """Write a cell."""
    return ", ".join(f"{name} = {level}" for name, level in levels.items())


def changed(after: "Levels", before: "Levels") -> str:
    """Write of a cell what differs from another one."""
    differs = {name: level for name, level in after.items() if before.get(name) != level}
    return setting(differs) if differs else "as it was"


def load_text(load: "Load") -> str:
    """Name a load with its rate, and how busy the server is at it."""
    facts = [numbers.rate(load["rate_per_s"])] if load["rate_per_s"] is not None else []
    if load["busy_share"] is not None:
        facts.append(f"server {numbers.percent(load['busy_share'])} busy")
    return f"{load['name']} ({', '.join(facts)})" if facts else load["name"]


def calm(load: "Load") -> bool:
    """Tell whether figures of a load are calm latency that differs from what was measured."""
    theft = load["theft"]
    return theft is not None and theft["runs"] > 0 and theft["refused"] is None


def findings(document: "Attribution") -> list[str]:
    """Give what was found, without what the summary says already."""
    return [text for text in document["findings"] if text not in document["summary"]]


def asked(document: "Attribution") -> str:
    """Tell the quantile that the study is about."""
    return document["recommendation"]["quantile"]


def in_order(document: "Attribution", labels: Sequence[str]) -> list[str]:
    """Set labels of quantiles in order, the one that the study is about first."""
    first = asked(document)
    return sorted(labels, key=lambda label: (label != first, numbers.label_order(label)))
