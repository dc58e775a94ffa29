"""Rate schedules: the values of ``--schedule``, as points of seconds and rates for the engine.

Between two points the rate is linear; two points at the same second are a step; after the last point it
starts again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from hindmost.core.documents import is_name, read_text
from hindmost.core.names import nearest
from hindmost.core.plan.units import parse_duration
from hindmost.errors import UsageError

Points = tuple[tuple[float, float], ...]

SINE_PIECES = 64
"""Straight pieces per period: the rate differs by at most 0.12 % of the amplitude."""

VAR = ((0.0, 2.0), (0.5, 1.0), (1.0, 2.0))
"""Facebook's VAR trace: "a gradual drop in request rate, followed by a gradual rise" (WWW 2019, section 5).
The peak is about twice the minimum, as in all three. Rebuilt from this description, not from the trace."""
APP = ((0.0, 1.0), (0.1, 1.9), (0.3, 2.0), (0.5, 1.9), (0.7, 2.0), (0.9, 1.9), (1.0, 1.0))
"""APP: "a steep rise, followed by a relatively constant request rate, and ends with a steep drop"."""
_JAGS = (1.0, 1.9, 1.5, 2.0, 1.55, 1.85, 1.4, 1.95, 1.6, 2.0, 1.45, 1.8, 1.5, 2.0, 1.6, 1.9, 1.0)
ETC = tuple((i / (len(_JAGS) - 1), rate) for i, rate in enumerate(_JAGS))
"""ETC: "similar to APP, but is much more bursty"."""
SHAPES = {"var": VAR, "app": APP, "etc": ETC}

KNOWN = ("sine", "steps", "ramp", *SHAPES)
_USAGE = "--schedule sine:amplitude=0.5,period=10s, steps:1,3,1, ramp:1,2, var, app, etc, or a CSV file"


def parse_schedule(text: str, duration_s: float) -> tuple[Points, float | None]:
    """Read ``--schedule``.

    Parameters
    ----------
    text : str
        A shape with its values, or a CSV file of seconds and requests per second.
    duration_s : float
        Length of the measurement; the default period.

    Returns
    -------
    tuple
        Pairs of seconds and rates; and the mean rate of a file, in requests per second.

    Raises
    ------
    UsageError
        If it is not a schedule; for a file, with its line.

    Examples
    --------
    >>> parse_schedule("steps:1,3", 10.0)
    (((0.0, 1.0), (5.0, 1.0), (5.0, 3.0), (10.0, 3.0)), None)
    >>> parse_schedule("ramp:1,2,period=4s", 10.0)
    (((0.0, 1.0), (4.0, 2.0)), None)
    """
    name, _, values_text = text.partition(":")
    if name not in KNOWN:
        if "." in text or "/" in text:
            points = read_schedule(Path(text))
            return points, _mean(points)
        raise UsageError(
            "unknown-name",
            f"--schedule {name!r} is neither a shape nor a file{nearest(name, KNOWN)}",
            hint=_USAGE,
            option="--schedule",
            name=name,
            known=list(KNOWN),
        )
    values, given = _split(values_text, ("amplitude", "period") if name == "sine" else ("period",))
    period_s = parse_duration(given["period"], "period", 0.001) if "period" in given else duration_s
    if name in SHAPES:
        if values:
            raise UsageError(
                "bad-value",
                f"--schedule {name} takes only a period, not {values[0]:g}",
                hint=_USAGE,
                option="--schedule",
                value=text,
            )
        return _stretch(period_s, SHAPES[name]), None
    if name == "sine":
        amplitude = _number(given.get("amplitude", "0.5"))
        if values or not 0.0 <= amplitude <= 1.0:
            raise UsageError(
                "bad-value",
                f"--schedule {text}: the amplitude is a share of the mean rate, between 0 and 1",
                hint=_USAGE,
                option="--schedule",
                key="amplitude",
                value=text,
                least=0,
                most=1,
            )
        at = [i / SINE_PIECES for i in range(SINE_PIECES + 1)]
        return _stretch(period_s, [(x, 1.0 + amplitude * math.sin(math.tau * x)) for x in at]), None
    if len(values) < 2:
        raise UsageError(
            "bad-value",
            f"--schedule {text} needs at least two rates",
            hint=_USAGE,
            option="--schedule",
            value=text,
            have=len(values),
            need=2,
        )
    return _stretch(period_s, _MAKE[name](values)), None


def read_schedule(file: Path) -> Points:
    """Read a CSV file of seconds and requests per second, with or without a header line.

    Raises
    ------
    UsageError
        With file and line.
    """
    try:
        lines = read_text(file).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "unreadable-file" if file.exists() else "no-such-file",
            f"cannot read schedule {file}: {error}",
            hint=_USAGE,
            option="--schedule",
            path=str(file),
        ) from None
    points: list[tuple[float, float]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            at, rate = (float(part) for part in line.split(","))
        except ValueError:
            if number == 1 and all(map(is_name, line.split(","))):
                continue
            raise _wrong(file, number, f"{line!r} is not SECONDS,RATE") from None
        if not (math.isfinite(at) and math.isfinite(rate) and rate >= 0.0):
            raise _wrong(file, number, f"{rate:g} requests/s at {at:g} s are not possible")
        if points and at < points[-1][0]:
            raise _wrong(file, number, f"second {at:g} comes after second {points[-1][0]:g}")
        points.append((at, rate))
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        raise _wrong(file, len(lines), "a schedule needs at least two times")
    if _mean(points) <= 0.0:
        raise _wrong(file, len(lines), "the rate is always 0")
    first = points[0][0]
    return tuple((at - first, rate) for at, rate in points)


def mean_rates(points: Sequence[Sequence[float]], rate_per_s: float, edges: Sequence[float]) -> list[float]:
    """Return a schedule's mean rate between consecutive times of a measurement.

    Parameters
    ----------
    points : sequence of (float, float)
        Seconds and rates in any unit; it starts again after the last.
    rate_per_s : float
        Mean over a period, in requests per second.
    edges : sequence of float
        Rising times, in seconds since the measurement began; one more than the returned rates. Before 0 the
        rate is the mean rate.

    Examples
    --------
    >>> mean_rates([(0, 1), (1, 1), (1, 3), (2, 3)], 100.0, [-1, 0, 1, 2, 4])
    [100.0, 50.0, 150.0, 100.0]
    """
    import numpy as np

    at, rates = np.array(points, dtype=float).T
    # Requests scheduled up to a time: the integral of the schedule, exact because it is piecewise linear.
    areas = np.concatenate(([0.0], np.cumsum(np.diff(at) * (rates[1:] + rates[:-1]) / 2.0)))
    period, whole = at[-1], areas[-1]
    laps, inside = np.divmod(np.maximum(edges, 0.0), period)
    piece = np.clip(np.searchsorted(at, inside, side="right") - 1, 0, len(at) - 2)
    into, length = inside - at[piece], at[piece + 1] - at[piece]
    slope = (rates[piece + 1] - rates[piece]) / np.where(length > 0.0, length, 1.0)
    scheduled = laps * whole + areas[piece] + into * (rates[piece] + slope * into / 2.0)
    scheduled = scheduled * rate_per_s * period / whole + np.minimum(edges, 0.0) * rate_per_s
    return [float(rate) for rate in np.diff(scheduled) / np.diff(edges)]


def _wrong(file: Path, line: int, problem: str) -> UsageError:
    return UsageError(
        "bad-file",
        f"schedule {file}, line {line}: {problem}",
        hint="write one line per point: SECONDS,REQUESTS_PER_SECOND",
        option="--schedule",
        path=str(file),
        line=line,
    )


def _mean(points: Sequence[tuple[float, float]]) -> float:
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2.0 for a, b in pairwise(points))
    return area / (points[-1][0] - points[0][0])


def _steps(values: Sequence[float]) -> list[tuple[float, float]]:
    n = len(values)
    return [point for i, rate in enumerate(values) for point in ((i / n, rate), ((i + 1) / n, rate))]


def _ramp(values: Sequence[float]) -> list[tuple[float, float]]:
    return [(i / (len(values) - 1), rate) for i, rate in enumerate(values)]


_MAKE: dict[str, Callable[[Sequence[float]], list[tuple[float, float]]]] = {"steps": _steps, "ramp": _ramp}


def _stretch(period_s: float, shape: Sequence[tuple[float, float]]) -> Points:
    return tuple((share * period_s, rate) for share, rate in shape)


def _split(text: str, keys: Sequence[str]) -> tuple[list[float], dict[str, str]]:
    values: list[float] = []
    given: dict[str, str] = {}
    for part in text.split(",") if text else []:
        key, sign, value = part.partition("=")
        if not sign:
            values.append(_number(part))
        elif key not in keys or key in given:
            raise UsageError(
                "unknown-key",
                f"--schedule does not accept the key {key!r}, or has it twice{nearest(key, keys)}",
                hint=_USAGE,
                option="--schedule",
                key=key,
                known=list(keys),
            )
        else:
            given[key] = value
    return values, given


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (math.isfinite(number) and number >= 0.0):
        raise UsageError(
            "bad-value",
            f"{text!r} in --schedule is not a number of 0 or more",
            hint=_USAGE,
            option="--schedule",
            value=text,
            least=0,
        )
    return number
