"""``hindmost host knobs get``: one knob."""

from __future__ import annotations

import json
from typing import Annotated

from hindmost.cli.host.knobs.journal import FOLDER, Journal
from hindmost.cli.host.knobs.list import described
from hindmost.cli.options import TARGET, Json, option
from hindmost.exits import Exit
from hindmost.knobs.journal import knobs, known
from hindmost.store.knobs import SCHEMA_NAME


def get(
    name: Annotated[str, option(TARGET, None, "The knob.")],
    *,
    journal: Journal = FOLDER,
    json_: Json = False,
) -> int:
    """Show a setting: its value, its choices, its effect."""
    every = knobs(journal)
    knob = every[known(name, list(every))]
    print(json.dumps({"schema": SCHEMA_NAME, "knobs": [knob]}) if json_ else f"{name}  {described(knob)}")
    return Exit.DONE
