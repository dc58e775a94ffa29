"""Cleaning a document for display: printable strings, and only numbers that can be drawn."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from hindmost.core.escapes import plain


class _Clean(dict[str, Any]):
    """A document that `clean` returned."""


def clean(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Copy a document with strings that are safe to print, and null in place of NaN.

    A document that is already clean is returned unchanged.
    """
    return document if isinstance(document, _Clean) else _Clean(_clean(document))


def _clean(value: Any) -> Any:  # noqa: ANN401 - JSON in, JSON out
    if isinstance(value, float):
        return None if value != value else value  # NaN
    if isinstance(value, str):
        return plain(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    if isinstance(value, Mapping):
        return {plain(str(key)): _clean(item) for key, item in value.items()}
    return value


def finite(values: Iterable[float | None]) -> list[float]:
    """Return the values that can be drawn."""
    return [v for v in values if v is not None and math.isfinite(v)]
