"""Text for the terminal: wrapped, coloured if possible, and readable without colour."""

import os
import shutil
import sys
from io import StringIO
from typing import TYPE_CHECKING

from hindmost.core.escapes import plain
from hindmost.present import numbers

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_STAND_IN = "\ue000"


def new_console(width: int | None, color: bool | None) -> "Console":
    """Return a console that stores its output. Its width is the terminal's, COLUMNS, or 80."""
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


def console_text(console: "Console") -> str:
    """Return the text written to a console."""
    file = console.file
    assert isinstance(file, StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def print_text(console: "Console", text: "Text | str", *, indent: int = 0) -> None:
    """Print a text. Continuation lines are indented by ``indent``."""
    from rich.text import Text

    text = Text(text) if isinstance(text, str) else text
    for number, line in enumerate(wrap_lines(console, text, console.width - indent)):
        console.print(Text(" " * indent if number else "") + line, soft_wrap=True)


def wrap_lines(console: "Console", text: "Text", width: int) -> "list[Text]":
    """Break a text into lines, but never within a number: no-break spaces are replaced meanwhile."""
    text.plain = text.plain.replace(numbers.THIN, _STAND_IN)
    lines = list(text.wrap(console, width))
    for line in lines:
        line.plain = line.plain.replace(_STAND_IN, numbers.THIN)
    return lines


def print_reason(console: "Console", why: str | None, hint: str | None, *, indent: int) -> None:
    """Print a reason, then ``hint:`` on a separate unwrapped line, so that users can copy the command."""
    from rich.text import Text

    pad = " " * indent
    if why:
        for line in wrap_lines(console, Text(plain(why)), console.width - indent):
            console.print(Text(pad) + line, soft_wrap=True)
    if hint:
        console.print(
            Text(pad) + Text("hint: ", style="cyan") + Text(plain(hint).replace("`", "")), soft_wrap=True
        )
