"""Layout of ``--help``: two columns, wrapped to the terminal, without frames or colour."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

_WIDEST = 100
_INDENT = 2
_COLUMN = 24
"""Column at which descriptions begin. The description of a longer option is on the next line."""


class PlainHelp:
    """Formatter for help pages, in the interface that cyclopts expects."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Draw one group of options or commands."""
        if not panel.entries:
            return
        lines = ["", f"{panel.title}:"]
        for entry in panel.entries:
            lines += _entry(_names(entry), _describe(entry), min(console.width, _WIDEST))
        _print(console, "\n".join(lines))

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:  # noqa: ANN401
        """Draw the usage line."""
        text = _plain(usage)
        _print(console, ("" if text.startswith("Usage:") else "Usage: ") + text + "\n")

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:  # noqa: ANN401
        """Draw the description of a command, or the epilogue."""
        paragraphs = _plain(description).split("\n\n")
        wrapped = [textwrap.fill(" ".join(p.split()), min(console.width, _WIDEST)) for p in paragraphs if p]
        if wrapped:
            _print(console, "\n\n".join(wrapped))


def _entry(names: str, described: str, width: int) -> list[str]:
    gap = " " * _COLUMN
    wrapped = textwrap.wrap(
        described, max(20, width - _COLUMN), break_on_hyphens=False, break_long_words=False
    )
    head = " " * _INDENT + names
    if len(head) <= _COLUMN - 2:
        return [head.ljust(_COLUMN) + (wrapped[0] if wrapped else ""), *(gap + line for line in wrapped[1:])]
    return [head, *(gap + line for line in wrapped)]


def _names(entry: HelpEntry) -> str:
    if entry.positional_label:
        return entry.positional_label
    names = ", ".join((*entry.positive_shorts, *entry.positive_names))
    return f"{names} {entry.metavar}" if entry.metavar else names


def _describe(entry: HelpEntry) -> str:
    parts = [" ".join(_plain(entry.description).split())]
    if entry.choices:
        parts.append(f"[{' | '.join(entry.choices)}]")
    if entry.default not in (None, "", "False", "()") and "[default:" not in parts[0]:
        parts.append(f"[default: {entry.default}]")
    return " ".join(part for part in parts if part)


def _plain(thing: Any) -> str:  # noqa: ANN401 (a string or a renderable of cyclopts)
    if thing is None:
        return ""
    for attribute in ("primary_renderable", "renderable"):
        thing = getattr(thing, attribute, thing)
    return str(getattr(thing, "plain", thing)).strip()


def _print(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)
