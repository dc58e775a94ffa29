"""``hindmost host knobs get``: show one setting."""

from __future__ import annotations

import json
from typing import Annotated

from hindmost.cli.options import TARGET, Json, option
from hindmost.commands.host.cli.knobs.journal import FOLDER, Journal
from hindmost.commands.host.cli.knobs.list import format_setting
from hindmost.commands.host.document import SCHEMA_NAME
from hindmost.core.exits import Exit
from hindmost.core.knobs.journal import check_name, knobs


def get(
    name: Annotated[str, option(TARGET, None, "Name of the setting.")],
    *,
    journal: Journal = FOLDER,
    json_: Json = False,
) -> int:
    """Show a setting: its value, its choices, its effect."""
    every = knobs(journal)
    knob = every[check_name(name, list(every))]
    print(
        json.dumps({"schema": SCHEMA_NAME, "knobs": [knob]}) if json_ else f"{name}  {format_setting(knob)}"
    )
    return Exit.DONE
