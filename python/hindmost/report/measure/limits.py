"""Limits that were required, in lines: the same for standard error, table, page and summary."""

from collections.abc import Mapping
from typing import Any

from hindmost.escapes import plain
from hindmost.store.measure import Limit, Measure

MARKS = {"held": "✓", "crossed": "✕", "undecided": "?"}
"""As those of verdicts."""
LEVELS = {"held": "valid", "crossed": "invalid", "undecided": "inconclusive"}
"""The verdict whose colour each has."""


def lines(result: Measure | Mapping[str, Any]) -> tuple[str, ...]:
    """One line a limit, and one for what would decide it; nothing where none was required."""
    told: list[str] = []
    for one in result.get("limits") or []:
        told.append(plain(f"limit {one['limit']} {one['result']}: {one['text']}"))
        if one["hint"]:
            told.append(plain(f"hint: {one['hint'].replace('`', '')}"))
    return tuple(told)


def unmeasured_markdown(result: Mapping[str, Any]) -> str:
    """A summary for a CI job's page where nothing could be measured: what became of each limit."""
    told = [
        f"- {MARKS[one['result']]} `{one['limit']}` {one['result']}: {plain(one['text'])}"
        for one in result["limits"]
    ]
    return f"## ✕ not measured: {plain(result['target']['name'])}\n\n" + "\n".join(told) + "\n"


def head(one: Limit) -> str:
    """The limit and its result, in front of the figure."""
    return f"{MARKS.get(one['result'], '?')} {one['limit']} {one['result']}"
