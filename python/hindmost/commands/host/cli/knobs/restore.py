"""``hindmost host knobs restore``: restore the original settings."""

from __future__ import annotations

import msgspec

from hindmost import _engine
from hindmost.cli.options import Json
from hindmost.commands.host.cli.knobs.journal import FOLDER, Journal
from hindmost.commands.host.document import Knobs
from hindmost.core.exits import Exit
from hindmost.core.knobs.journal import call_engine
from hindmost.core.store.engine import Restored
from hindmost.core.store.estimates import encode


def restore(*, journal: Journal = FOLDER, json_: Json = False) -> int:
    """Restore all changed settings, the last change first.

    Settings that a running study is using stay as they are. The command exits with 1 if a setting could not
    be restored. Such a setting stays in the journal.
    """
    text = call_engine(lambda: _engine.restore_knobs(str(journal)))
    done = msgspec.json.decode(text, type=list[Restored])
    if json_:
        print(encode(Knobs(restored=done)))
    elif not done:
        print("nothing was changed")
    else:
        for one in done:
            print(f"{one.name}  {one.value}" + (f": {one.failure}" if one.failure else ""))
    return Exit.ERROR if any(one.failure for one in done) else Exit.DONE
