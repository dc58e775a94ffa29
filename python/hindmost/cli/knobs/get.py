"""``hindmost knobs get``: one knob."""

from __future__ import annotations

import json
from typing import Annotated

from hindmost import _engine
from hindmost.cli.knobs.journal import FOLDER, Journal, asked, nearest
from hindmost.cli.knobs.list import described
from hindmost.cli.options import TARGET, Json, option
from hindmost.errors import UsageError


def get(
    name: Annotated[str, option(TARGET, None, "The knob.")],
    *,
    journal: Journal = FOLDER,
    json_: Json = False,
) -> int:
    """Show one knob: its value, its choices, what it does."""
    knobs = {knob["name"]: knob for knob in asked(lambda: _engine.knobs(str(journal)))}
    if name not in knobs:
        close = nearest(name, list(knobs))
        raise UsageError(
            f"there is no knob {name!r}",
            hint=f"hindmost knobs get {close}" if close else "hindmost knobs list --all",
        )
    print(json.dumps(knobs[name]) if json_ else f"{name}  {described(knobs[name])}")
    return 0
