"""Parts that the views of levels, batching modes and targets share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hindmost.commands.compare.documents.setting import Span
from hindmost.commands.compare.documents.targets import Ratio
from hindmost.core.store.types import Note
from hindmost.present import numbers
from hindmost.present.blocks import Block, Details, Item, Items, Text


def list_excluded(rounds: Sequence[str]) -> Iterator[Block]:
    """Yield what is shown about excluded rounds: their number, the first one, and all of them on the page."""
    if rounds:
        yield Text(f"{numbers.plural(len(rounds), 'round')} excluded: {rounds[0]}")
    if len(rounds) > 1:
        yield Details("Excluded rounds", [Items([Item(one) for one in rounds])])


def describe_isolated(names: Sequence[str]) -> Iterator[Block]:
    """Yield which percentiles are of isolated latency."""
    if names:
        yield Text(
            f"{', '.join(names)}: isolated latency, without interference; mean and sd: latency", "muted"
        )


def describe_excluded(aside: Mapping[str, Note]) -> list[str]:
    """Return each excluded round with its reason."""
    return [f"round {number}: {why.text}" for number, why in aside.items()]


def shown_figures(latency: Mapping[str, object], wanted: Sequence[str]) -> list[str]:
    """Return the figures of a table: mean, sd, and the `wanted` percentiles, or else the last one."""
    names = [name for name in latency if name not in ("mean", "sd")]
    return ["mean", "sd", *([name for name in names if name in wanted] or names[-1:])]


def format_ratio(ratio: Ratio | Span | None) -> str:
    """Format a ratio and its interval, if they are known."""
    if ratio is None or ratio.value is None:
        return numbers.MISSING
    ends = ""
    if ratio.low is not None and ratio.high is not None:
        ends = f" [{numbers.number(ratio.low, 2)}, {numbers.number(ratio.high, 2)}]"
    return f"{numbers.number(ratio.value, 2)}{ends}"


def figure_title(name: str) -> str:
    """Return the title of a figure's chart."""
    return "standard deviation" if name == "sd" else name


def figure_name(name: str) -> str:
    """Return the name of a figure in a sentence."""
    return "Standard deviation of latency within a run" if name == "sd" else f"{name} of latency"
