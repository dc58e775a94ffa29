"""Levels of a setting: as text, and as numbers if they have one unit."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from hindmost.errors import UsageError

MOST_LEVELS = 20
STEPS = 5
"""Number of levels in a range, including its ends."""
_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(\s*[^0-9\s]*)")


def parse_levels(text: str) -> tuple[str, ...]:
    """Read comma-separated levels, the present state first; ``LOW..HIGH`` stands for five levels.

    Levels that contain commas are written as a JSON list.

    >>> parse_levels("off,on")
    ('off', 'on')
    >>> parse_levels("0,10..160")
    ('0', '10', '20', '40', '80', '160')
    >>> parse_levels('["0", "ff,00000000"]')
    ('0', 'ff,00000000')
    """
    levels: list[str] = _parse_list(text) if text.lstrip().startswith("[") else []
    for part in [] if levels else text.split(","):
        low, separator, high = part.strip().partition("..")
        levels += _range(float(low), float(high)) if separator and _numbers(low, high) else [part.strip()]
    if not 2 <= len(set(levels)) == len(levels) <= MOST_LEVELS:
        raise UsageError(
            "bad-value",
            f"levels {text!r} must be 2 to {MOST_LEVELS} different levels, the present one first",
            hint="off,on; or 0,10..160 to find the best number",
            option="--set",
            value=text,
            least=2,
            most=MOST_LEVELS,
        )
    return tuple(levels)


def write_levels(levels: Sequence[str]) -> str:
    """Write levels in the form that `parse_levels` reads.

    >>> write_levels(["free", "each"]), write_levels(["0", "ff,00000000"])
    ('free,each', '["0", "ff,00000000"]')
    """
    plain = ",".join(levels)
    is_reversible = ".." not in plain and [part.strip() for part in plain.split(",")] == list(levels)
    return plain if is_reversible and not plain.startswith("[") else json.dumps(list(levels))


def numbers_of(levels: Sequence[str]) -> tuple[list[float], str] | None:
    """Return levels as numbers with their unit; None if they are not different numbers of one unit.

    >>> numbers_of(["0", "160us", "40us"])
    ([0.0, 160.0, 40.0], 'us')
    >>> numbers_of(["off", "10us"]), numbers_of(["1ms", "10us"]), numbers_of(["1", "1.0"])
    (None, None, None)
    """
    matches = [_NUMBER.fullmatch(level) for level in levels]
    values = [float(match[1]) for match in matches if match]
    units = {match[2] for match in matches if match and (match[2] or float(match[1]))}
    if len(values) < len(levels) or len(units) > 1 or len(set(values)) < len(levels):
        return None
    return values, next(iter(units), "")


def refine_levels(levels: Sequence[str], best: int) -> list[str]:
    """Return the levels half-way between one level and its neighbours.

    The middle is geometric if both are above 0, and an integer if all levels are integers.

    Parameters
    ----------
    levels : sequence of str
        Numbers of one unit.
    best : int
        Index of that level.

    Raises
    ------
    ValueError
        If they are not numbers of one unit.

    >>> refine_levels(["0", "10", "20", "40"], 2), refine_levels(["0", "10", "20", "40"], 1)
    (['14', '28'], ['5', '14'])
    >>> refine_levels(["0", "3", "4"], 2), refine_levels(["0us", "0.5us"], 0)
    ([], ['0.25us'])
    >>> refine_levels(["1000000", "4000000"], 0)
    ['2000000']
    """
    parsed = numbers_of(levels)
    if parsed is None:
        raise ValueError(f"{', '.join(levels)} are not different numbers of one unit")
    values, unit = parsed
    whole = all("." not in level for level in levels)
    ordered = sorted(values)
    position = ordered.index(values[best])
    new = []
    for left, right in ((position - 1, position), (position, position + 1)):
        if left < 0 or right == len(ordered):
            continue
        low, high = ordered[left], ordered[right]
        middle = (low * high) ** 0.5 if low > 0 else (low + high) / 2
        middle = float(round(middle)) if whole else float(f"{middle:.4g}")
        if low < middle < high:
            new.append(f"{middle:.0f}{unit}" if whole else f"{middle:g}{unit}")
    return new


def _parse_list(text: str) -> list[str]:
    try:
        levels = json.loads(text)
    except ValueError as error:
        raise UsageError(
            "bad-value",
            f"levels {text!r} are not a list: {error}",
            hint='["0", "3,1"]',
            option="--set",
            value=text,
        ) from None
    return [str(level) for level in levels]


def _numbers(*texts: str) -> bool:
    return all(text.replace(".", "", 1).isdecimal() for text in texts)


def _range(low: float, high: float) -> list[str]:
    """Return levels at equal ratios, because settings take effect by factors, not by steps."""
    if not 0 < low < high:
        raise UsageError(
            "bad-value",
            f"levels {low:g}..{high:g} must rise from a number above 0",
            hint="0,10..160",
            option="--set",
            value=f"{low:g}..{high:g}",
        )
    return [f"{low * (high / low) ** (step / (STEPS - 1)):.4g}" for step in range(STEPS)]
