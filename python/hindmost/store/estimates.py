"""How numbers stand in a document: the one place where an estimate becomes JSON.

JSON knows neither infinity nor "not a number". Two rules hold in every document:

1. A number that is not finite is null. Of a measured latency that means *infinitely late* (unsent or
   timed-out requests reach that quantile); of an end of an interval, that the interval has no such end, or
   that there is no interval at all (one run). Which it is, the document itself says (``censored_runs`` of
   `hindmost.store.measure`).
2. Nothing else is changed: no rounding, no other stand-in. What cannot be negative has an interval that is
   made above zero (`hindmost.stats.positive_mean_interval`), not one that is cut there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol, TypedDict, TypeVar

from hindmost.store.types import Microseconds

Document = TypeVar("Document")


class Interval(Protocol):
    """A number with its interval, such as `hindmost.stats.Estimate`."""

    @property
    def value(self) -> float:
        """The figure; infinite for infinitely late."""

    @property
    def low(self) -> float:
        """Lower end; NaN where there is no interval."""

    @property
    def high(self) -> float:
        """Upper end; NaN where there is no interval."""


class Bounds(TypedDict):
    """The ends of an interval; null where there is none."""

    low: float | None
    high: float | None


class Value(TypedDict):
    """A figure in microseconds and its interval; null is infinitely late, or not known."""

    value: Microseconds
    low: Microseconds
    high: Microseconds


UNKNOWN: Value = {"value": None, "low": None, "high": None}


def number(value: float | None) -> float | None:
    """A number, or null for what JSON cannot say.

    >>> number(31.5), number(float("inf")), number(float("nan")), number(None)
    (31.5, None, None, None)
    """
    return value if value is not None and math.isfinite(value) else None


def numbers(values: Mapping[str, float]) -> dict[str, float | None]:
    """Several numbers by name, each as `number` has it."""
    return {name: number(value) for name, value in values.items()}


def bounds(low: float, high: float) -> Bounds:
    """The ends of an interval.

    >>> bounds(0.5, float("inf"))
    {'low': 0.5, 'high': None}
    >>> bounds(float("nan"), float("nan"))
    {'low': None, 'high': None}
    """
    return {"low": number(low), "high": number(high)}


def written(one: Interval) -> Value:
    """A value with its interval.

    >>> from hindmost.stats import mean_interval
    >>> written(mean_interval([30.0]))
    {'value': 30.0, 'low': None, 'high': None}
    """
    return {"value": number(one.value), **bounds(one.low, one.high)}


def finite(document: Document) -> Document:
    """The same document with null for every number in it that JSON cannot say; tuples become lists."""
    return _finite(document)  # type: ignore[return-value]


def _finite(part: object) -> object:
    if isinstance(part, float):
        return part if math.isfinite(part) else None
    if isinstance(part, dict):
        return {key: _finite(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [_finite(value) for value in part]
    return part
