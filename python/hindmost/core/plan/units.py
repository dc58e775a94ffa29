"""Parses rates, times, shares and thresholds as users write them; invalid text raises `UsageError`."""

from __future__ import annotations

import math
import re

from hindmost.errors import UsageError

_NUMBER = re.compile(
    r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf)\s*([a-zµ%]*)\s*(?:/s)?\s*", re.IGNORECASE
)
_RATES = {"": 1.0, "k": 1e3, "m": 1e6}
_TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}

HIGHEST_RATE = 1e8
"""Requests per second; more is a typing error (the engine refuses it, too)."""
MOST_SHARE = 10.0
"""Repeats of ten times the requested runs; more is a typing error."""
LONGEST_S = 86_400.0
"""A day; a longer phase is a typing error."""


def _split(text: str, what: str, units: dict[str, float], example: str) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None or match[2].lower() not in units:
        raise UsageError(
            "bad-value",
            f"{what} {text!r} cannot be read",
            hint=f"write it like {example}",
            name=what,
            value=text,
        )
    return float(match[1]) * units[match[2].lower()]


def parse_rate(text: str) -> float:
    """Read a rate in requests per second.

    >>> parse_rate("50k"), parse_rate("1200"), parse_rate("1.5M")
    (50000.0, 1200.0, 1500000.0)
    """
    rate = _split(text, "rate", _RATES, "50k, 1200 or 1.5M (requests per second)")
    if not (math.isfinite(rate) and 0 < rate <= HIGHEST_RATE):
        raise UsageError(
            "bad-value",
            f"rate {text!r} is not between 0 and {HIGHEST_RATE / 1e6:g}M requests/s",
            hint="write it like 50k, 1200 or 1.5M",
            name="rate",
            value=text,
            most=HIGHEST_RATE,
            unit="1/s",
        )
    return rate


def parse_duration(text: str, what: str = "duration", least_s: float = 0.0) -> float:
    """Read a time in seconds.

    >>> parse_duration("10s"), parse_duration("500ms"), parse_duration("2m")
    (10.0, 0.5, 120.0)
    """
    seconds = _split(text, what, _TIMES, "10s, 500ms or 2m")
    if not (math.isfinite(seconds) and least_s <= seconds <= LONGEST_S):
        raise UsageError(
            "bad-value",
            f"{what} {text!r} is not between {least_s:g} s and one day",
            hint="write it like 10s, 500ms or 2m",
            name=what,
            value=text,
            least=least_s,
            most=LONGEST_S,
            unit="s",
        )
    return seconds


def parse_percent(text: str, what: str = "precision") -> float:
    """Read a share; return a fraction of 1.

    >>> parse_percent("5%"), parse_percent("0.05")
    (0.05, 0.05)
    """
    share = _split(text, what, {"": 1.0, "%": 0.01}, "5% or 0.05")
    if not 0.0 < share < 1.0:
        raise UsageError(
            "bad-value",
            f"{what} {text!r} is not between 0 and 100 %",
            hint=_percent_hint(text, share, "5%"),
            name=what,
            value=text,
            least=0.0,
            most=1.0,
        )
    return share


def _percent_hint(text: str, share: float, example: str) -> str:
    """Suggest the percent sign if a bare number looks like a percentage."""
    forgotten = "%" not in text and 1.0 < share <= 100.0
    return f"write {share:g}%" if forgotten else f"write it like {example}"


def parse_share(text: str, what: str, most: float = MOST_SHARE) -> float:
    """Read a share from 0 up to `most`, which may exceed 1; return a fraction of 1.

    >>> parse_share("50%", "--remake"), parse_share("0", "--remake")
    (0.5, 0.0)
    """
    share = _split(text, what, {"": 1.0, "%": 0.01}, "50% or 0.5")
    if not 0.0 <= share <= most:
        raise UsageError(
            "bad-value",
            f"{what} {text!r} is not between 0 and {100 * most:.0f} %",
            hint=_percent_hint(text, share, "50%"),
            name=what,
            value=text,
            least=0.0,
            most=most,
        )
    return share


def parse_runs(text: str) -> tuple[int, int]:
    """Read the minimum and maximum number of runs.

    >>> parse_runs("10..30"), parse_runs("5")
    ((10, 30), (5, 5))
    """
    match = re.fullmatch(r"\s*(\d{1,6})\s*(?:(?:\.\.|-)\s*(\d{1,6}))?\s*", text)
    if match is None:
        raise UsageError(
            "bad-value",
            f"runs {text!r} cannot be read",
            hint="write it like 10..30, or 5 for exactly five",
            name="runs",
            value=text,
        )
    least, most = int(match[1]), int(match[2] or match[1])
    if not 1 <= least <= most:
        raise UsageError(
            "bad-value",
            f"runs {text!r}: at least 1, and the first number at most the second",
            hint="write it like 10..30, or 5 for exactly five",
            name="runs",
            value=text,
            least=1,
        )
    return least, most


def parse_quantiles(text: str) -> tuple[float, ...]:
    """Read percentiles; return sorted levels in (0, 1).

    >>> parse_quantiles("50,95,99,99.9")
    (0.5, 0.95, 0.99, 0.999)
    """
    levels = set()
    for part in text.split(","):
        try:
            percent = float(part.strip().removeprefix("p"))
        except ValueError:
            raise UsageError(
                "bad-value",
                f"percentile {part!r} cannot be read",
                hint="write them like 50,95,99,99.9",
                name="percentile",
                value=part,
            ) from None
        if 0.0 < percent < 1.0 and not part.strip().startswith("p"):
            intended = ",".join(_percentile(each) for each in text.split(","))
            raise UsageError(
                "bad-value",
                f"percentile {part.strip()!r} is below 1. Percentiles are written as {_percentile(part)},"
                " not as shares",
                hint=f"--quantiles {intended}; or p{part.strip()} if you want this low percentile",
                name="percentile",
                value=part.strip(),
                meant=_percentile(part),
            )
        if not 0.0 < percent < 100.0:
            raise UsageError(
                "bad-value",
                f"percentile {part!r} is not between 0 and 100",
                hint="write them like 50,95,99,99.9",
                name="percentile",
                value=part,
                least=0,
                most=100,
            )
        levels.add(round(percent / 100.0, 12))
    return tuple(sorted(levels))


def _percentile(part: str) -> str:
    """Convert a possible share to a percentile.

    >>> _percentile("0.99"), _percentile("50"), _percentile("all")
    ('99', '50', 'all')
    """
    try:
        share = float(part.strip())
    except ValueError:
        return part.strip()
    return f"{100.0 * share:.10g}" if 0.0 < share <= 1.0 else part.strip()


def label(level: float) -> str:
    """Name a quantile by its percentile.

    >>> label(0.5), label(0.999)
    ('p50', 'p99.9')
    """
    return f"p{round(100.0 * level, 10):.12g}"


def format_us(us: float, digits: int = 3) -> str:
    """Format microseconds in a suitable unit; `parse_duration` reads it back.

    >>> format_us(31.24), format_us(1460.0), format_us(2.5e6), format_us(float("inf"))
    ('31.2 µs', '1.46 ms', '2.5 s', 'infinitely late')
    """
    if math.isinf(us):
        return "infinitely late"
    rounded = float(f"{us:.{digits}g}")
    for unit, size in (("s", 1e6), ("ms", 1e3), ("µs", 1.0)):
        if abs(rounded) >= size or unit == "µs":
            number = rounded / size
            return f"{number:.{digits}g} {unit}" if number < 10**digits else f"{number:.0f} {unit}"
    raise AssertionError("the last unit always matches")


def format_duration(seconds: float) -> str:
    """Format a duration for people.

    Examples
    --------
    >>> [format_duration(s) for s in (40, 89.9, 600, 7200, 7325)]
    ['40 s', '1 min 30 s', '10 min', '2 h', '2 h 2 min']
    """
    total = math.ceil(seconds)
    if total < 60:
        return f"{total} s"
    if total < 600:
        minutes, seconds_left = divmod(total, 60)
        return f"{minutes} min" + (f" {seconds_left} s" if seconds_left else "")
    hours, minutes = divmod(round(total / 60), 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h" + (f" {minutes} min" if minutes else "")
