"""Text for the terminal: wrapped, coloured where it may be, readable without."""

import os
import shutil
import sys
from io import StringIO
from typing import TYPE_CHECKING

from hindmost.escapes import plain
from hindmost.report.common import numbers

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_STAND_IN = "\ue000"


def console_of(width: int | None, color: bool | None) -> "Console":
    """A console that keeps what is printed; by default as wide as the terminal, or COLUMNS, or 80."""
    from rich.console import Console

    on_screen = sys.stdout.isatty()
    if color is None:
        color = on_screen and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if width is None:
        width = shutil.get_terminal_size((80, 24)).columns
    return Console(
        file=StringIO(),
        width=max(40, width),
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )


def text_of(console: "Console") -> str:
    """What was written to it."""
    file = console.file
    assert isinstance(file, StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def printed(console: "Console", text: "Text | str", *, indent: int = 0) -> None:
    """Print, wrapped lines hanging below the first by ``indent``."""
    from rich.text import Text

    text = Text(text) if isinstance(text, str) else text
    for number, line in enumerate(wrapped(console, text, console.width - indent)):
        console.print(Text(" " * indent if number else "") + line, soft_wrap=True)


def wrapped(console: "Console", text: "Text", width: int) -> "list[Text]":
    """Break into lines, never inside a number: a stand-in takes the place of its no-break spaces."""
    text.plain = text.plain.replace(numbers.THIN, _STAND_IN)
    lines = list(text.wrap(console, width))
    for line in lines:
        line.plain = line.plain.replace(_STAND_IN, numbers.THIN)
    return lines


def hinted(console: "Console", why: str | None, hint: str | None, *, indent: int) -> None:
    """Print why, and ``hint:`` on a line of its own, unwrapped so that a command can be copied whole."""
    from rich.text import Text

    pad = " " * indent
    if why:
        for line in wrapped(console, Text(plain(why)), console.width - indent):
            console.print(Text(pad) + line, soft_wrap=True)
    if hint:
        console.print(
            Text(pad) + Text("hint: ", style="cyan") + Text(plain(hint).replace("`", "")), soft_wrap=True
        )
