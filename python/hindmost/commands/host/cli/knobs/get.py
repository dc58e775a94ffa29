"""``hindmost host knobs get``: show one setting."""

from __future__ import annotations

from typing import Annotated

from hindmost.cli.options import TARGET, Json, option
from hindmost.commands.host.cli.knobs.journal import FOLDER, Journal
from hindmost.commands.host.document import Knobs
from hindmost.commands.host.view import setting_text
from hindmost.core.exits import Exit
from hindmost.core.knobs.journal import check_name, knobs
from hindmost.core.store.estimates import encode


def get(
    name: Annotated[str, option(TARGET, None, "Name of the setting.")],
    *,
    journal: Journal = FOLDER,
    json_: Json = False,
) -> int:
    """Show a setting: its value, its choices, its effect."""
    every = knobs(journal)
    knob = every[check_name(name, list(every))]
    print(encode(Knobs(knobs=[knob])) if json_ else f"{name}  {setting_text(knob)}")
    return Exit.DONE
