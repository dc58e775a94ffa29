"""Required limits as lines, for standard error, table, page and summary."""

from collections.abc import Mapping
from typing import Any

from hindmost.core.escapes import plain
from hindmost.core.store.measure import Limit, Measure

MARKS = {"held": "✓", "crossed": "✕", "undecided": "?"}
"""The marks of verdicts."""
LEVELS = {"held": "valid", "crossed": "invalid", "undecided": "inconclusive"}
"""The verdict whose colour each result has."""


def limit_lines(result: Measure | Mapping[str, Any]) -> tuple[str, ...]:
    """Return one line per limit, and a hint if there is one. Empty without limits."""
    texts: list[str] = []
    for one in result.get("limits") or []:
        texts.append(plain(f"limit {one['limit']} {one['result']}: {one['text']}"))
        if one["hint"]:
            texts.append(plain(f"hint: {one['hint'].replace('`', '')}"))
    return tuple(texts)


def unmeasured_markdown(result: Mapping[str, Any]) -> str:
    """Render the limits for a CI job's page after a measurement failed."""
    texts = [
        f"- {MARKS[one['result']]} `{one['limit']}` {one['result']}: {plain(one['text'])}"
        for one in result["limits"]
    ]
    return f"## ✕ not measured: {plain(result['target']['name'])}\n\n" + "\n".join(texts) + "\n"


def limit_head(one: Limit) -> str:
    """Format the limit and its result, before the figure."""
    return f"{MARKS.get(one['result'], '?')} {one['limit']} {one['result']}"
