"""Makes a document ready to be shown: nothing unprintable, and only numbers that can be drawn."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from hindmost.escapes import plain


class _Clean(dict[str, Any]):
    """A document that `clean` made."""


def clean(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Copy a document with strings that are safe to print, and null for what is not a number.

    A document that is clean is returned as it is.
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
    """Only those values that can be drawn."""
    return [v for v in values if v is not None and math.isfinite(v)]
