"""Formatting of numbers, for every table, sentence and chart of the report.

Numbers have three significant digits, or as many as the interval justifies; ``∞`` means infinitely late,
``–`` unknown. A comma separates thousands, a narrow no-break space the number from its unit.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

THIN = "\u202f"
"""Narrow no-break space, between a number and its unit."""

INFINITE = "∞"
MISSING = "–"

_UNITS = (("s", 1e6), ("ms", 1e3), ("µs", 1.0))


class Unit(NamedTuple):
    """A unit for a whole column."""

    name: str
    us: float
    """Microseconds in one unit."""


MICROSECONDS = Unit("µs", 1.0)


def finite(values: Iterable[float | None]) -> list[float]:
    """Return the values that can be drawn."""
    return [value for value in values if value is not None and math.isfinite(value)]


def decimals(value: float, significant: int = 3) -> int:
    """Return the number of decimals (0 to 3) that shows ``value`` to ``significant`` digits."""
    if not math.isfinite(value) or value == 0:
        return 0
    power = int(f"{value:.{significant - 1}e}".partition("e")[2])
    return min(3, max(0, significant - 1 - power))


def group_thousands(text: str) -> str:
    """Separate the thousands of a plain decimal number with five or more digits."""
    whole, dot, fraction = text.partition(".")
    sign, whole = ("−", whole[1:]) if whole.startswith("-") else ("", whole)
    if len(whole) > 4:
        whole = f"{int(whole):,}"
    return sign + whole + dot + fraction


def number(value: float | None, places: int | None = None) -> str:
    """Format a number to three significant digits, or with ``places`` decimals.

    >>> number(31.234), number(1234.5), number(None), number(float("inf"))
    ('31.2', '1234', '–', '∞')
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return INFINITE
    return group_thousands(f"{value:.{decimals(value) if places is None else places}f}")


def count(value: int | float | None) -> str:
    """Format a whole number with separated thousands."""
    return MISSING if value is None else number(float(value), 0)


def percent(share: float | None) -> str:
    r"""Format a share in percent, with two digits of the share or of its distance to 100 %.

    >>> percent(0.42), percent(0.99974), percent(0.004), percent(1.0), percent(1e-9)
    ('42\u202f%', '99.974\u202f%', '0.40\u202f%', '100\u202f%', '<0.001\u202f%')
    """
    if share is None or not math.isfinite(share):
        return MISSING
    value = share * 100
    gap = min(abs(value), abs(100 - value))
    if 1e-9 < gap < 0.0005:
        return f"<0.001{THIN}%" if value < 50 else f">99.999{THIN}%" if value < 100 else f"100{THIN}%"
    whole = abs(value - round(value)) < 1e-9
    return f"{value:.{0 if whole else decimals(gap, 2)}f}{THIN}%"


def change(share: float) -> str:
    r"""Format a relative change in percent.

    >>> change(0.132), change(-0.0042), change(1.63), change(0.0)
    ('+13\u202f%', '-0.4\u202f%', '+163\u202f%', '0\u202f%')
    """
    value = 100.0 * share
    return f"{value:+.{0 if abs(value) >= 9.5 else 1}f}{THIN}%" if value else f"0{THIN}%"


def rate(per_second: float | None) -> str:
    """Format a rate. Rates are known precisely, so it has at least four digits."""
    if per_second is None:
        return MISSING
    places = 0 if abs(per_second) >= 1000 else decimals(per_second, 4)
    return f"{number(per_second, places)}/s"


def unit_for(values: list[float]) -> Unit:
    """Return the unit that suits a whole column: µs until its largest value reaches 100 ms."""
    top = max((v for v in values if math.isfinite(v)), default=0.0)
    if top >= 1e8:
        return Unit("s", 1e6)
    return Unit("ms", 1e3) if top >= 1e5 else MICROSECONDS


def latency(us: float | None, *, missing: str = MISSING) -> str:
    r"""Format one time in a suitable unit.

    >>> latency(31.2), latency(1250.0), latency(0.0), latency(25_000.0)
    ('31.2\u202fµs', '1.25\u202fms', '0\u202fµs', '25.0\u202fms')
    """
    if us is None or math.isnan(us):
        return missing
    if math.isinf(us):
        return INFINITE
    for name, scale in _UNITS:
        if abs(us) >= scale * 0.9995 or name == "µs":
            return f"{number(us / scale)}{THIN}{name}"
    return missing


def tick(us: float) -> str:
    r"""Format a round time for an axis, without redundant digits.

    >>> tick(0.5), tick(20.0), tick(5000.0)
    ('0.5\u202fµs', '20\u202fµs', '5\u202fms')
    """
    for name, scale in _UNITS:
        if abs(us) >= scale * 0.9995 or name == "µs":
            return f"{us / scale:.4g}{THIN}{name}"
    return ""


def seconds(value: float | None) -> str:
    """Format a duration in seconds, from two minutes on in minutes, from two hours on in hours."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value >= 7200:
        return f"{int(value // 3600)}{THIN}h {int(value % 3600 // 60)}{THIN}min"
    if value >= 120:
        return f"{int(value // 60)}{THIN}min {int(value % 60)}{THIN}s"
    return f"{value:.3g}{THIN}s"


def plural(amount: int, word: str) -> str:
    """Format a count with its noun: ``1 run``, ``2 runs``."""
    return f"{count(amount)} {word}{'' if amount == 1 else 's'}"


def cut(text: str, most: int) -> str:
    """Cut the middle out of a long name, because both ends may distinguish it from others.

    >>> cut("memcached", 16), cut("memcached-with-4-threads", 16)
    ('memcached', 'memcach…-threads')
    """
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def bytes_(value: float | None) -> str:
    """Format a size of memory in binary units."""
    if value is None:
        return MISSING
    for name in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.3g}{THIN}{name}" if value < 1000 else f"{value:.0f}{THIN}{name}"
        value /= 1024
    return f"{number(value)}{THIN}TiB"


class Interval(NamedTuple):
    """A value and its interval, formatted with the same decimals."""

    value: str
    low: str
    high: str
    half_share: str
    """Half the width as a share of the value, or ``''`` if it is undefined."""


def interval(
    value: float | None, low: float | None, high: float | None, unit: Unit = MICROSECONDS
) -> Interval:
    """Format value, low and high (in microseconds, ``inf`` or ``None``) with the same decimals.

    The decimals are those of three digits of the value, or of the first digit of half the width, whichever is
    more. An end that would be written as zero although it is not zero gets its own format: a time's interval
    never reaches zero, and readers look whether the interval of a difference excludes zero.

    >>> interval(41.0, 0.0312, 2641.0)[:3], interval(41.0, 1e-9, 2641.0).low
    (('41.0', '0.031', '2641.0'), '<0.001')
    """
    scaled = [None if v is None else v / unit.us for v in (value, low, high)]
    known = [v for v in scaled if v is not None and math.isfinite(v)]
    places = decimals(known[0]) if known else 0
    half_share = ""
    point, bottom, top = scaled
    if point is not None and bottom is not None and top is not None and len(known) == 3 and top > bottom:
        half = (top - bottom) / 2
        places = max(places, decimals(half, 1))
        if point > 0:
            share = 100 * half / point
            half_share = f"±{share:.{1 if share < 9.95 else 0}f}{THIN}%"
    return Interval(number(point, places), _end(bottom, places), _end(top, places), half_share)


def _end(value: float | None, places: int) -> str:
    """Format one end of an interval. Only zero itself is written as zero."""
    if value is None or not 0.0 < abs(value) < 0.5 * 10.0**-places:
        return number(value, places)
    sign = "−" if value < 0.0 else ""
    return number(value) if abs(value) >= 0.0005 else f"{'>' if sign else '<'}{sign}0.001"


def level_label(q: float) -> str:
    """Format the percentile of a level for an axis.

    >>> level_label(0.5), level_label(0.999)
    ('50', '99.9')
    """
    return f"{100 * q:.6g}"


def about_level(q: float) -> str:
    """Format a level that is not round, with one more digit than its nines.

    >>> about_level(0.988342), about_level(0.3333), about_level(0.999)
    ('98.8', '33', '99.9')
    """
    places = max(0, math.ceil(-math.log10(max(1 - q, 1e-9)) - 1e-6) - 1)
    return f"{float(f'{100 * q:.{places}f}'):g}"


def label_order(label: str) -> tuple[int, float]:
    """Return a sort key of quantile labels: by percentile, then the mean, then unknown labels."""
    if label == "mean":
        return (1, 0.0)
    try:
        return (0, float(label.removeprefix("p")))
    except ValueError:
        return (2, 0.0)
