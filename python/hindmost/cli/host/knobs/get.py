"""``hindmost host knobs get``: show one setting."""

from __future__ import annotations

import json
from typing import Annotated

from hindmost.cli.host.knobs.journal import FOLDER, Journal
from hindmost.cli.host.knobs.list import format_setting
from hindmost.cli.options import TARGET, Json, option
from hindmost.exits import Exit
from hindmost.knobs.journal import check_name, knobs
from hindmost.store.knobs import SCHEMA_NAME


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
