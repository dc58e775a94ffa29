"""Levels of a knob as they are written, and as numbers where they are numbers of one unit."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from hindmost.errors import UsageError

MOST_LEVELS = 20
STEPS = 5
"""Levels of a range, its ends among them."""
_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(\s*[^0-9\s]*)")


def parse_levels(text: str) -> tuple[str, ...]:
    """Read levels: with commas between them, the present state first; ``LOW..HIGH`` stands for five.

    Levels that have commas themselves stand in a list as JSON has it, as they are.

    >>> parse_levels("off,on")
    ('off', 'on')
    >>> parse_levels("0,10..160")
    ('0', '10', '20', '40', '80', '160')
    >>> parse_levels('["0", "ff,00000000"]')
    ('0', 'ff,00000000')
    """
    levels: list[str] = _listed(text) if text.lstrip().startswith("[") else []
    for part in [] if levels else text.split(","):
        low, between, high = part.strip().partition("..")
        levels += _range(float(low), float(high)) if between and _numbers(low, high) else [part.strip()]
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
    """As `parse_levels` reads them.

    >>> write_levels(["free", "each"]), write_levels(["0", "ff,00000000"])
    ('free,each', '["0", "ff,00000000"]')
    """
    plain = ",".join(levels)
    alike = ".." not in plain and [one.strip() for one in plain.split(",")] == list(levels)
    return plain if alike and not plain.startswith("[") else json.dumps(list(levels))


def numbers_of(levels: Sequence[str]) -> tuple[list[float], str] | None:
    """Levels as numbers with their unit; None where they are no different numbers of one unit.

    >>> numbers_of(["0", "160us", "40us"])
    ([0.0, 160.0, 40.0], 'us')
    >>> numbers_of(["off", "10us"]), numbers_of(["1ms", "10us"]), numbers_of(["1", "1.0"])
    (None, None, None)
    """
    found = [_NUMBER.fullmatch(level) for level in levels]
    values = [float(one[1]) for one in found if one]
    units = {one[2] for one in found if one and (one[2] or float(one[1]))}
    if len(values) < len(levels) or len(units) > 1 or len(set(values)) < len(levels):
        return None
    return values, next(iter(units), "")


def around(levels: Sequence[str], best: int) -> list[str]:
    """Levels half way between one and its neighbours: by ratio where they are above 0, whole where all are.

    Parameters
    ----------
    levels : sequence of str
        Numbers of one unit.
    best : int
        The place of the one.

    Raises
    ------
    ValueError
        If they are no numbers of one unit.

    >>> around(["0", "10", "20", "40"], 2), around(["0", "10", "20", "40"], 1)
    (['14', '28'], ['5', '14'])
    >>> around(["0", "3", "4"], 2), around(["0us", "0.5us"], 0), around(["1000000", "4000000"], 0)
    ([], ['0.25us'], ['2000000'])
    """
    found = numbers_of(levels)
    if found is None:
        raise ValueError(f"{', '.join(levels)} are no different numbers of one unit")
    values, unit = found
    whole = all("." not in level for level in levels)
    ordered = sorted(values)
    at = ordered.index(values[best])
    new = []
    for one, next_one in ((at - 1, at), (at, at + 1)):
        if one < 0 or next_one == len(ordered):
            continue
        low, high = ordered[one], ordered[next_one]
        middle = (low * high) ** 0.5 if low > 0 else (low + high) / 2
        middle = float(round(middle)) if whole else float(f"{middle:.4g}")
        if low < middle < high:
            new.append(f"{middle:.0f}{unit}" if whole else f"{middle:g}{unit}")
    return new


def _listed(text: str) -> list[str]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UsageError(
            "bad-value",
            f"levels {text!r} are not a list: {error}",
            hint='["0", "3,1"]',
            option="--set",
            value=text,
        ) from None
    return [str(one) for one in found]


def _numbers(*texts: str) -> bool:
    return all(text.replace(".", "", 1).isdecimal() for text in texts)


def _range(low: float, high: float) -> list[str]:
    """Levels at equal ratios: what a knob does changes by factors, not by steps."""
    if not 0 < low < high:
        raise UsageError(
            "bad-value",
            f"levels {low:g}..{high:g} must rise from a number above 0",
            hint="0,10..160",
            option="--set",
            value=f"{low:g}..{high:g}",
        )
    return [f"{low * (high / low) ** (step / (STEPS - 1)):.4g}" for step in range(STEPS)]
