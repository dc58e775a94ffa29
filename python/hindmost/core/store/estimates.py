"""The form of numbers in documents: the only place that turns an estimate into JSON.

Infinite, unknown and missing are different, in every document:

==============  ===========  ===========  =========================================================
in JSON         in memory    in a table   meaning
==============  ===========  ===========  =========================================================
``"inf"``       ``math.inf``  ``∞``       infinitely late: unsent or timed-out requests reach that
                                          quantile; for an interval: it has no such end
``null``        ``None``      ``–``       unknown, such as the interval of a single run
no such key     no such key               not measured
==============  ===========  ===========  =========================================================

`number` and `to_value` make the form in memory, `encode` writes it, `read_document` reads it. Older documents
have null for infinite, too: `read_document` distinguishes the two by ``censored_runs``. Nothing is rounded or
replaced. A quantity that cannot be negative has an interval computed above zero
(`hindmost.stats.positive_mean_interval`), not one cut off at zero.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from hindmost.core.store.types import Document, Microseconds, Number

Plain = TypeVar("Plain")


class Interval(Protocol):
    """A number with its interval, such as `hindmost.stats.Estimate`."""

    @property
    def value(self) -> float:
        """The figure; infinite for infinitely late."""

    @property
    def low(self) -> float:
        """Lower end; NaN without an interval."""

    @property
    def high(self) -> float:
        """Upper end; NaN without an interval."""


class Bounds(Document):
    """The ends of an interval; null without one."""

    low: Number
    high: Number


class Value(Document):
    """A figure in microseconds and its interval."""

    value: Microseconds
    low: Microseconds
    high: Microseconds


UNKNOWN = Value(value=None, low=None, high=None)


def number(value: float | None) -> float | None:
    """Convert a number to its form in a document: None if unknown.

    >>> number(31.5), number(float("inf")), number(float("nan")), number(None)
    (31.5, inf, None, None)
    """
    return None if value is None or math.isnan(value) else value


def numbers(values: Mapping[str, float]) -> dict[str, float | None]:
    """Convert several numbers by name with `number`."""
    return {name: number(value) for name, value in values.items()}


def bounds(low: float, high: float) -> dict[str, float | None]:
    """Return the ends of an interval as arguments of a document.

    >>> bounds(0.5, float("inf"))
    {'low': 0.5, 'high': inf}
    >>> bounds(float("nan"), float("nan"))
    {'low': None, 'high': None}
    """
    return {"low": number(low), "high": number(high)}


def to_value(estimate: Interval) -> Value:
    """Convert a figure with its interval.

    >>> from hindmost.stats import mean_interval
    >>> to_value(mean_interval([30.0]))
    Value(value=30.0, low=None, high=None)
    """
    return Value(value=number(estimate.value), **bounds(estimate.low, estimate.high))


def without_nan(document: Plain) -> Plain:
    """Return the document with None for every unknown number, and no type of numpy; tuples become lists."""
    return _each(document, lambda value: number(float(value)))  # type: ignore[return-value]


def to_document(answer: object) -> dict[str, Any]:
    """Return a typed document as plain data, as its JSON has it, but with numbers that may be infinite."""
    document: dict[str, Any] = without_nan(_builtins(answer))
    return document


def encode(document: object, indent: int | None = None) -> str:
    """Write a document as JSON.

    >>> encode({"value": float("inf"), "low": 31.5, "high": float("nan")})
    '{"value": "inf", "low": 31.5, "high": null}'
    """
    return json.dumps(_each(_builtins(document), _in_json), allow_nan=False, indent=indent)


def _builtins(document: object) -> Any:  # noqa: ANN401 (plain data)
    return msgspec.to_builtins(document, enc_hook=lambda number: number.item())  # of numpy


def _in_json(value: float) -> float | str | None:
    return number(value) if math.isfinite(value) or math.isnan(value) else str(value)


def _each(part: object, change: Callable[[float], object]) -> object:
    if isinstance(part, float):
        return change(part)
    if part is None or isinstance(part, (str, int)):
        return part
    if isinstance(part, msgspec.Struct):
        return type(part)(**{name: _each(getattr(part, name), change) for name in part.__struct_fields__})
    if isinstance(part, Mapping):
        return {key: _each(value, change) for key, value in part.items()}
    return [_each(value, change) for value in part] if isinstance(part, (list, tuple)) else part
