"""Servers that are stopped by SIGSTOP."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from measuring import HindmostProcess, process_state, wait_for


def is_stopped(pid: int) -> bool:
    """Whether all threads of the process are stopped: each stops when it next runs on a CPU."""
    return all(process_state(int(task.name)) == "T" for task in Path(f"/proc/{pid}/task").iterdir())


def freeze_repeatedly(
    pids: Collection[int], load: HindmostProcess, freeze_s: float, pause_s: float
) -> Iterator[tuple[int, int]]:
    """Stop the processes repeatedly until the load ends; yields the wall-clock times between which they were stopped."""
    while load.poll() is None:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: all(map(is_stopped, pids)), "the server is stopped")
        begin = time.time_ns()
        time.sleep(freeze_s)
        end = time.time_ns()
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        yield begin, end
        time.sleep(pause_s)
