"""The watchdog: puts back what was changed when whoever changed it dies, or does not come back in time.

Started as a plain file in a session of its own; it imports the engine only. It reads lines of JSON:
``{"hold": NAME, "seconds": S}`` (NAME is in the journal and must be undone within S), ``{"done": NAME}``. At
the end of input, however it came, everything that the dead process left in the journal is undone: a
``kill -9`` is heard of at once, since the kernel closes the pipe.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import Any

PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0
PATIENCE_S = 120.0
"""A group goes after its last process, and what was killed must run to go; a busy host takes its time."""
OF_THE_LIVING_S = 5.0
"""If the owner lives, what is left is its own. Its input ends before the kernel gives us another parent."""


def main(journal: str, owner: int) -> None:
    """Wait for words, deadlines, and the end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    from hindmost import _engine

    os.write(1, b"ready\n")
    held: dict[str, float] = {}
    words = b""
    while True:
        soonest = min(held.values(), default=None)
        wait = None if soonest is None else max(0.0, soonest - time.monotonic())
        ready, _, _ = select.select([0], [], [], wait)
        if ready:
            more = os.read(0, 4096)
            if not more:
                break
            words += more
            *lines, words = words.split(b"\n")
            for line in lines:
                said = json.loads(line)
                if "hold" in said:
                    held[said["hold"]] = time.monotonic() + said["seconds"]
                else:
                    held.pop(said["done"], None)
        for name in [name for name, until in held.items() if until <= time.monotonic()]:
            del held[name]
            with contextlib.suppress(_engine.EngineError):
                _engine.undo_knob(name, journal, owner)
    _clean_up(_engine, journal, owner)


def _clean_up(engine: Any, journal: str, owner: int) -> None:  # noqa: ANN401 (a module)
    """Undo until nothing of the dead is left."""
    begun, pause = time.monotonic(), PAUSE_S
    while time.monotonic() - begun < (OF_THE_LIVING_S if os.getppid() == owner else PATIENCE_S):
        with contextlib.suppress(engine.EngineError):
            engine.recover_knobs(journal)
            if all(one["pid"] != owner for one in json.loads(engine.left_knobs(journal))):
                return
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
