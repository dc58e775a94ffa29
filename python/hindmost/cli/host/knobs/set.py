"""``hindmost host knobs set``: one knob, through the journal."""

from __future__ import annotations

import json
from typing import Annotated

from hindmost import _engine
from hindmost.cli.host.knobs.journal import FOLDER, Journal
from hindmost.cli.options import TARGET, Json, option
from hindmost.cli.streams import say
from hindmost.exits import Exit
from hindmost.knobs.journal import told
from hindmost.store.knobs import SCHEMA_NAME


def set_(
    name: Annotated[str, option(TARGET, None, "The knob.")],
    value: Annotated[str, option(TARGET, None, "New value.")],
    *,
    journal: Journal = FOLDER,
    json_: Json = False,
) -> int:
    """Set a value, after the old one is in the journal.

    It stays so until it is put back: hindmost host knobs restore. Settings do not outlive a boot.
    """
    knob = json.loads(told(lambda: _engine.set_knob(name, value, str(journal))))
    if json_:
        print(json.dumps({"schema": SCHEMA_NAME, "knobs": [knob]}))
    else:
        print(f"{name}  {knob['value']} (found: {knob['found']})")
    say("to put everything back: hindmost host knobs restore")
    return Exit.DONE
