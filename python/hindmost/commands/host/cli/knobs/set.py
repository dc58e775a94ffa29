"""``hindmost host knobs set``: change one setting, through the journal."""

from __future__ import annotations

from typing import Annotated

import msgspec

from hindmost import _engine
from hindmost.cli.options import TARGET, Json, option
from hindmost.cli.streams import say
from hindmost.commands.host.cli.knobs.journal import FOLDER, Journal
from hindmost.commands.host.document import Knobs
from hindmost.core.exits import Exit
from hindmost.core.knobs.journal import call_engine
from hindmost.core.store.engine import Knob
from hindmost.core.store.estimates import encode


def set_(
    name: Annotated[str, option(TARGET, None, "Name of the setting.")],
    value: Annotated[str, option(TARGET, None, "New value.")],
    *,
    journal: Journal = FOLDER,
    json_: Json = False,
) -> int:
    """Set a value, after writing the old one to the journal.

    The value stays until `hindmost host knobs restore` restores the old one. Settings do not survive a
    reboot.
    """
    knob = msgspec.json.decode(call_engine(lambda: _engine.set_knob(name, value, str(journal))), type=Knob)
    if json_:
        print(encode(Knobs(knobs=[knob])))
    else:
        print(f"{name}  {knob.value} (originally: {knob.found})")
    say("to restore all settings: hindmost host knobs restore")
    return Exit.DONE
