"""Makes a document ready to be shown: nothing unprintable, and only numbers that can be drawn."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from hindmost.escapes import plain


def clean(value: Any) -> Any:  # noqa: ANN401 - JSON in, JSON out
    """Copy any document with strings that are safe to print, and null for what is not a number."""
    if isinstance(value, float):
        return None if value != value else value  # NaN
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict | Mapping):
        return {plain(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    return value


def finite(values: Iterable[float | None]) -> list[float]:
    """Only those values that can be drawn."""
    return [v for v in values if v is not None and math.isfinite(v)]
