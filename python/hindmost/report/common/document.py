"""Makes a document ready to be shown: nothing unprintable, and only numbers that can be drawn."""

import math
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

_BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


def plain(text: str) -> str:
    """Show control characters (a server may send any as its version) instead of obeying them."""
    if text.isprintable() and _BIDI.isdisjoint(text):
        return text
    return "".join(
        "\ufffd" if c in _BIDI or (unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t") else c
        for c in text
    )


def clean(value: Any) -> Any:  # noqa: ANN401 - JSON in, JSON out
    """Copy any document with strings that are safe to print, and null for what is not a number."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, Mapping):
        return {plain(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    return value


def finite(values: Iterable[float | None]) -> list[float]:
    """Only those values that can be drawn."""
    return [v for v in values if v is not None and math.isfinite(v)]
