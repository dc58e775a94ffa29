"""Formatting of keys, values, times and hints of any document."""

import json
import re
from collections.abc import Mapping
from typing import Any

from hindmost.present import numbers

VERDICT_MARKS = {"valid": "✓", "invalid": "✕", "inconclusive": "?"}
FINDING_MARKS = {"fine": "✓", "note": "!", "unfit": "✕"}


def moment(iso: str) -> str:
    """Format an ISO 8601 time."""
    found = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?$", iso)
    return f"{found[1]} {found[2]} {'UTC' if found[3] == 'Z' else found[3] or ''}".strip() if found else iso


def hint_parts(hint: str | None) -> list[tuple[bool, str]]:
    """Split a hint into prose and commands: text between backticks is a command.

    Without backticks, a hint that begins with a program name is a command as a whole.
    """
    if not hint:
        return []
    if "`" in hint:
        return [(i % 2 == 1, part) for i, part in enumerate(hint.split("`")) if part]
    program = re.match(r"(hindmost|sudo|taskset|make|cpupower|systemctl|sysctl|echo|apt-get)\s", hint)
    return [(bool(program), hint)]


def code_parts(text: str) -> list[tuple[bool, str]]:
    """Split a text at its backticks into prose and commands.

    >>> code_parts("use `--runs 20` here")
    [(False, 'use '), (True, '--runs 20'), (False, ' here')]
    """
    return [(place % 2 == 1, part) for place, part in enumerate(text.split("`")) if part]


def pairs(mapping: Mapping[str, Any], missing: str = "unknown") -> list[tuple[str, str]]:
    """Format the keys and values of a mapping. ``missing`` replaces null."""
    return [
        (format_key(key), missing if value is None else format_value(key, value))
        for key, value in mapping.items()
    ]


def format_key(key: str) -> str:
    """Format a key without its unit, which is shown with the value."""
    return re.sub(r"_(per_s|s|us|ns|bytes|share)$", "", key).replace("_", " ")


def format_value(key: str, value: object) -> str:
    """Format one value of the plan or of the host. The suffix of its key is its unit."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        if key.endswith("_bytes"):
            return numbers.bytes_(value)
        if key.endswith("_per_s"):
            return numbers.rate(value)
        if key.endswith("_us"):
            return numbers.latency(value)
        if key.endswith("_ns"):
            return numbers.latency(value / 1000)
        if key.endswith("_s"):
            return numbers.seconds(value)
        if key.endswith("_share") or key == "precision":
            return numbers.percent(value)
        return f"{value:g}" if isinstance(value, float) else str(value)
    if key == "runs" and isinstance(value, list) and len(value) == 2:
        return f"{value[0]} to {value[1]}" if value[0] != value[1] else str(value[0])
    if key == "quantiles" and isinstance(value, list):
        return ", ".join(f"p{numbers.level_label(q)}" if isinstance(q, float) else str(q) for q in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{format_key(name)} {format_value(name, item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value)


def keep_units(text: str) -> str:
    """Keep a number and its unit on one line."""
    return re.sub(r"(?<=\d) (?=(?:µs|ms|s|%)(?!\w))", numbers.THIN, text)
