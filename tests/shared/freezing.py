"""Servers that are made to stand still, by SIGSTOP."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from measuring import Started, state, wait_for


def stopped(pid: int) -> bool:
    """Whether all of its threads stand still: each stops by itself, when it next has a processor."""
    return all(state(int(task.name)) == "T" for task in Path(f"/proc/{pid}/task").iterdir())


def freezes(
    pids: Collection[int], load: Started, freeze_s: float, pause_s: float
) -> Iterator[tuple[int, int]]:
    """Stop them over and over until the load has ended; between these moments of the wall clock they stood still."""
    while load.poll() is None:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: all(map(stopped, pids)), "the server stands still")
        begin = time.time_ns()
        time.sleep(freeze_s)
        end = time.time_ns()
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        yield begin, end
        time.sleep(pause_s)
