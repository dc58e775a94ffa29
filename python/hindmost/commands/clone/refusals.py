"""Codes and fields of the engine's error messages about a clone or a design.

The engine names field, value and limit in sentences of a fixed form, which are parsed here.
"""

from __future__ import annotations

import json
import re
from typing import Any

_LIMIT = re.compile(r"`(?P<key>[^`]+)` is (?P<value>.+?), but must be (?P<must>.+?)[.;]?$", re.DOTALL)
_UNKNOWN_KEY = re.compile(r"unknown field `(?P<key>[^`]+)`")
_UNKNOWN_NAME = re.compile(r"unknown variant `(?P<value>[^`]+)`")
_MISSING = re.compile(r"missing field `(?P<key>[^`]+)`")
_FORMS = (
    ("bad-value", _LIMIT),
    ("unknown-key", _UNKNOWN_KEY),
    ("bad-value", _UNKNOWN_NAME),
    ("missing-argument", _MISSING),
)


def refusal(message: str) -> tuple[str, dict[str, Any]]:
    """Return code and fields of an error message of the engine.

    Examples
    --------
    >>> refusal("clone field `threads` is 0, but must be between 1 and 1024")
    ('bad-value', {'key': 'threads', 'value': 0, 'must': 'between 1 and 1024'})
    >>> refusal("unknown variant `heap`, expected `shared` or `per_thread`")
    ('bad-value', {'value': 'heap', 'known': ['shared', 'per_thread']})
    """
    for code, form in _FORMS:
        if found := form.search(message):
            fields = {name: _value(text) for name, text in found.groupdict().items()}
            if known := re.findall("`([^`]+)`", message.partition("expected ")[2]):
                fields["known"] = known
            return code, fields
    return "bad-value", {}


def _value(text: str) -> Any:  # noqa: ANN401 (a number or a word)
    try:
        return json.loads(text)
    except ValueError:
        return text
