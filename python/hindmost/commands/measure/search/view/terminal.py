"""A search (``hindmost.search/1``) for the terminal: the answer, then its steps by rate."""

from __future__ import annotations

import math
import shutil
import sys
import textwrap

from hindmost.commands.measure.search.document import Search, SearchStep
from hindmost.core.plan.objective import parse_objective
from hindmost.core.plan.units import format_us

IN_WORDS = {
    "holds": "holds",
    "fails": "does not hold",
    "undecided": "undecided",
    "unmet": "not measurable",
    "spoiled": "interference",
}


def render_search(document: Search, width: int | None = None) -> str:
    """Render a search for a terminal `width` columns wide."""
    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
    rows = [("rate/s", "outcome", parse_objective(document["objective"]).leading.key, "runs", "why")]
    for step in sorted(document["steps"], key=lambda step: -step["rate_per_s"]):
        rate = f"{step['rate_per_s']:,.10g}"
        rows.append((rate, IN_WORDS[step["outcome"]], _value(step), _runs(step), step["why"]))
    sizes = [max(len(row[i]) for row in rows) for i in range(4)]
    left = sum(sizes) + 2 * len(sizes)
    room = max(20, width - left)
    lines = [textwrap.fill(document["headline"], max(40, width), break_long_words=False), ""]
    for rate, outcome, value, runs, why in rows:
        head = f"{rate:>{sizes[0]}}  {outcome:<{sizes[1]}}  {value:<{sizes[2]}}  {runs:>{sizes[3]}}  "
        first, *rest = textwrap.wrap(why, room, break_long_words=False) or [""]
        lines += [(head + first).rstrip(), *(" " * left + line for line in rest)]
    return "\n".join(lines)


def _value(step: SearchStep) -> str:
    if not step["runs"]:
        return "no finished run"
    if step["value_us"] is None:
        return "unknown"
    if step["value_us"] == math.inf or step["low_us"] is None or step["high_us"] is None:
        return format_us(step["value_us"])
    return f"{format_us(step['value_us'])} [{format_us(step['low_us'])}, {format_us(step['high_us'])}]"


def _runs(step: SearchStep) -> str:
    """Format the number of counted runs, and of all runs."""
    left_out = step["left_out"]
    return f"{step['runs'] - left_out} of {step['runs']}" if left_out else str(step["runs"])
