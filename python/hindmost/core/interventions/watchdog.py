"""The watchdog: restores the host when the process that changed it dies or misses its deadline.

It starts as a plain file in its own session and imports only the engine. It reads lines of JSON:
``{"hold": NAME, "seconds": S}`` (undo the journal entry NAME unless it is released within S seconds) and
``{"done": NAME}``. At the end of its input it undoes every journal entry of its owner. It notices ``kill -9``
at once, because the kernel closes the pipe.
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
"""How long to retry when the owner is dead, s. A cgroup disappears only after its last process, and a killed
process must run to exit, which takes time on a busy host."""
OWNER_ALIVE_S = 5.0
"""How long to retry while the owner is alive, s: it then undoes its own changes. The owner's pipe closes
before the kernel gives this process another parent."""


def main(journal: str, owner: int) -> None:
    """Obey the owner's lines and their deadlines until the input ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    from hindmost import _engine

    with contextlib.suppress(BrokenPipeError):  # the owner was killed already
        os.write(1, b"ready\n")
    deadlines: dict[str, float] = {}
    buffer = b""
    while True:
        soonest = min(deadlines.values(), default=None)
        wait = None if soonest is None else max(0.0, soonest - time.monotonic())
        ready, _, _ = select.select([0], [], [], wait)
        if ready:
            more = os.read(0, 4096)
            if not more:
                break
            buffer += more
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                order = json.loads(line)
                if "hold" in order:
                    deadlines[order["hold"]] = time.monotonic() + order["seconds"]
                else:
                    deadlines.pop(order["done"], None)
        for name in [name for name, until in deadlines.items() if until <= time.monotonic()]:
            del deadlines[name]
            with contextlib.suppress(_engine.EngineError):
                _engine.undo_knob(name, journal, owner)
    _clean_up(_engine, journal, owner)


def _clean_up(engine: Any, journal: str, owner: int) -> None:  # noqa: ANN401 (a module)
    """Undo the owner's journal entries until none is left or the time is up."""
    start, pause = time.monotonic(), PAUSE_S
    while time.monotonic() - start < (OWNER_ALIVE_S if os.getppid() == owner else PATIENCE_S):
        with contextlib.suppress(engine.EngineError):
            engine.recover_knobs(journal)
            if all(one["pid"] != owner for one in json.loads(engine.left_knobs(journal))):
                return
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
