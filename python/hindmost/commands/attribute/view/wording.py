"""Text of an attribution: terms, settings, verdicts, p-values, signed times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

from hindmost.commands.attribute.document import Attribution, Effect, Levels, Load, Ratio, VarianceShares
from hindmost.core.store.estimates import Value
from hindmost.present import numbers
from hindmost.present.blocks import Tone
from hindmost.present.numbers import MISSING, THIN, Unit

VERDICTS = {
    "raises": "raises",
    "lowers": "lowers",
    "negligible": "too small to matter",
    "undecided": "undecided",
}
ADJUSTMENTS = {
    "romano-wolf": "by Romano and Wolf's step-down method, which resamples all runs thousands of times as if"
    " no factor had an effect, and counts how often the largest effect is at least as large",
    "holm": "by Holm's procedure, which multiplies each p-value by the number of terms still in question",
    "false-discovery": "by Benjamini and Hochberg's rule for screening, which limits the share of false"
    " alarms among all suspects",
}
"""How p-values are adjusted for all terms, quantiles and loads together, for readers new to these methods."""
TONES: dict[str, Tone] = {
    "answered": "valid",
    "open": "inconclusive",
    "invalid": "invalid",
    "confirmed": "valid",
    "undecided": "inconclusive",
    "refuted": "invalid",
}
"""Colours of the answer and of a confirmation."""
EFFECT_TONES: dict[str, Tone] = {
    "raises": "invalid",
    "lowers": "valid",
    "negligible": "muted",
    "undecided": "muted",
}
"""Colours of an effect."""
SHOWN = ("raises", "lowers")
"""Verdicts of effects that are significant after adjustment for all terms, quantiles and loads."""
TIMES = " × "
_MANY_TIMES = 9.0
"""Shares above this are written as a multiple."""
_MOST_TIMES = 1000.0
"""Ratios above this are not written exactly, because they carry no information."""


class FormattedFigure(NamedTuple):
    """A figure and its interval, in the unit and with the decimals of its column."""

    value: str
    interval: str
    """``[low, high]``, or empty if the interval is unknown."""

    def __str__(self) -> str:
        """Return both."""
        return f"{self.value} {self.interval}".rstrip()


def is_known(value: float | None) -> TypeGuard[float]:
    """Whether a number is neither null nor NaN."""
    return value is not None and not math.isnan(value)


def ends(one: Value) -> tuple[float | None, float | None, float | None]:
    """Return a value and its interval, for `column`."""
    return one.value, one.low, one.high


def column(
    rows: Iterable[tuple[float | None, float | None, float | None]],
    *,
    sign: bool = False,
    unit: Unit | None = None,
) -> tuple[Unit, list[FormattedFigure]]:
    """Format value, low and high (in µs) of all rows alike: two digits of the narrowest half interval.

    >>> unit, (one, two) = column([(-29.04, -36.0, -22.1), (4.2, -9.7, 18.1)], sign=True)
    >>> unit.name, one.value, two.value, two.interval
    ('µs', '−29.0', '+4.2', '[−9.7, +18.1]')
    """
    rows = list(rows)
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
        FormattedFigure(one(value), "" if low is None and high is None else f"[{one(low)}, {one(high)}]")
        for value, low, high in rows
    ]


def number(value: float | None, places: int, *, sign: bool = False) -> str:
    """Format a number with fixed decimals, and a plus sign if `sign`. Zero has no sign."""
    if value is None or not math.isfinite(value):
        return numbers.number(value)
    text = numbers.group_thousands(f"{value:.{places}f}")
    if not text.strip("−0."):
        return text.lstrip("−")
    return f"+{text}" if sign and value > 0 else text


def percent(share: float | None) -> str:
    r"""Format a signed share. Above ten times as long, format the multiple.

    >>> percent(-0.0817), percent(0.224), percent(0.0004), percent(None), percent(2.4e9), percent(30.0)
    ('−8.2\u202f%', '+22\u202f%', '0.0\u202f%', '–', '> 1000×', '31×')
    """
    if share is None or not math.isfinite(share):
        return MISSING
    if share > _MANY_TIMES:
        return f"{_ratio(1.0 + share)}×"
    return f"{number(100 * share, 1 if abs(share) < 0.0995 else 0, sign=True)}{THIN}%"


def p_value(p: float | None) -> str:
    """Format a p-value to three decimals.

    >>> p_value(0.0001), p_value(0.0412), p_value(1.0), p_value(None)
    ('<0.001', '0.041', '1', '–')
    """
    if p is None:
        return MISSING
    if p < 0.0005:
        return "<0.001"
    return "1" if p > 0.9995 else f"{p:.3f}"


def tick(us: float) -> str:
    r"""Format a round time, which may be negative, for an axis.

    >>> tick(-20.0), tick(5.0), tick(0.0)
    ('−20\u202fµs', '5\u202fµs', '0\u202fµs')
    """
    return f"−{numbers.tick(-us)}" if us < 0 else numbers.tick(us)


def share_tick(share: float, *, ratio: bool = False) -> str:
    r"""Format a round share for an axis. On a ratio axis, format 100 % and more as a multiple.

    >>> share_tick(-0.05), share_tick(0.005), share_tick(0.0), share_tick(4.0, ratio=True)
    ('−5\u202f%', '+0.5\u202f%', '0\u202f%', '5×')
    """
    if ratio and share >= 1.0:
        return f"{1.0 + share:g}×"
    whole = abs(100 * share - round(100 * share)) < 1e-9
    return f"{number(100 * share, 0 if whole else 1, sign=True)}{THIN}%"


def ratio(one: Ratio | None) -> str:
    """Format a ratio and its interval to hundredths, or to two digits below a tenth.

    >>> ratio(Ratio(value=0.5713, low=0.509, high=0.634))
    '0.57 [0.51, 0.63]'
    >>> ratio(Ratio(value=0.0213, low=1e-5, high=248125835784.0))
    '0.021 [<0.001, > 1000]'
    """
    if one is None:
        return MISSING
    text = _ratio(one.value)
    return text if one.low is None else f"{text} [{_ratio(one.low)}, {_ratio(one.high)}]"


def _ratio(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return numbers.number(value)
    if 0.0 < value < 0.0005:
        return "<0.001"
    if value > _MOST_TIMES:
        return f"> {_MOST_TIMES:g}"
    return number(value, 3 if value < 0.1 else 2 if value < 10 else 0)


def delta(doc: Attribution) -> str:
    """Format the smallest effect that matters."""
    return f"±{numbers.latency(doc.delta_us) if doc.delta is None else numbers.percent(doc.delta)}"


def band(doc: Attribution, effects: Sequence[Effect]) -> float:
    """Return the smallest effect that matters, as a share of the same base as a table's effects."""
    if doc.delta is not None:
        return doc.delta
    base = next((one.value for one in effects if not one.factors), None)
    return (doc.delta_us or 0.0) / base if base else 0.0


def term(effect: Effect, doc: Attribution) -> str:
    """Name a term: a factor with its change of level, or interacting factors with their levels."""
    levels = {one.name: one.levels for one in doc.factors}
    if len(effect.factors) == 1 and effect.factors[0] in levels:
        return f"{effect.factors[0]}: {levels[effect.factors[0]][0]} → {effect.levels[0]}"
    return TIMES.join(
        f"{name} = {level}" if len(levels.get(name, ())) > 2 else name
        for name, level in zip(effect.factors, effect.levels, strict=True)
    )


def list_few(texts: Sequence[str], most: int = 2) -> str:
    """List a few texts and the number of others.

    >>> list_few(["a", "b"]), list_few(["a", "b", "c", "d"])
    ('a, b', 'a, b and 2 more')
    """
    more = len(texts) - most
    return ", ".join(texts) if more <= 0 else f"{', '.join(texts[:most])} and {more} more"


def setting(levels: Levels) -> str:
    """Format a cell."""
    return ", ".join(f"{name} = {level}" for name, level in levels.items())


def load_text(load: Load) -> str:
    """Name a load with its rate and the server's utilisation."""
    facts = [numbers.rate(load.rate_per_s)] if load.rate_per_s is not None else []
    if load.busy_share is not None:
        facts.append(f"server {numbers.percent(load.busy_share)} busy")
    return f"{load.name} ({', '.join(facts)})" if facts else load.name


def design_text(doc: Attribution) -> str:
    """Describe the design and the runs."""
    design = doc.design
    some = f"{design.cells} of {design.possible} cells"
    roman = {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII"}
    kind = {
        "full": f"full factorial of {design.cells} cells",
        "fraction": f"fraction of resolution {roman.get(design.resolution or 0, design.resolution)}: {some}",
        "screening": f"screening design: {some}",
        "subset": some,
    }[design.kind]
    blocks, runs = numbers.plural(design.blocks, "block"), numbers.plural(design.runs, "run")
    return f"{kind}, {blocks}, {runs} in {numbers.seconds(doc.seconds_total)}"


def is_isolated(load: Load) -> bool:
    """Return whether a load's figures are isolated latency that differs from measured latency."""
    interference = load.interference
    return interference is not None and interference.runs > 0 and interference.refused is None


def on_average(doc: Attribution) -> bool:
    """Return whether any answer has average effects; else effects are from the first levels."""
    return any(answer.average for load in doc.loads for answer in load.quantiles.values())


def explained(doc: Attribution) -> list[tuple[str, VarianceShares]]:
    """Return the known shares of the variance, with quantile and load."""
    return [
        (f"{label}, {load.name}", found)
        for load in doc.loads
        for label in labels(doc)
        if (found := load.quantiles[label].explained)
    ]


def labels(doc: Attribution) -> list[str]:
    """Return the labels of quantiles, the study's own quantile first."""
    first = doc.recommendation.quantile
    return sorted(doc.quantiles, key=lambda label: (label != first, numbers.label_order(label)))
