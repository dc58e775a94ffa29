"""Processor time of a server's threads, of those too that ended meanwhile."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hindmost.documents import read_kernel
from hindmost.targets.procfs import process_tree

ENDED = 0
"""Stands for all threads and processes that ended."""
_ROUNDING = 0.001
"""Of the whole: threads and processes are not read at the same moment, nor to the same digit."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Processor time up to now, in ns.

    Attributes
    ----------
    threads : mapping of int
        By thread (``/proc/PID/task/TID/schedstat``).
    processes : mapping of int
        By process, with its threads that have ended (clock_getcpuclockid(3)).
    reaped : mapping of int
        By process: its children that have ended and were waited for, in ticks of 10 ms (proc(5), ``cutime``).
        Those that nobody waits for, since SIGCHLD is ignored, the kernel counts nowhere.
    """

    threads: Mapping[int, int]
    processes: Mapping[int, int]
    reaped: Mapping[int, int]

    @classmethod
    def of(cls, pid: int | None) -> Self:
        """Of a process and its descendants; of nobody where it is not known."""
        threads: dict[int, int] = {}
        processes: dict[int, int] = {}
        reaped: dict[int, int] = {}
        for one in [] if pid is None else process_tree(pid):
            for task in Path(f"/proc/{one}/task").glob("*/schedstat"):
                with contextlib.suppress(OSError):
                    threads[int(task.parent.name)] = int(read_kernel(task).split()[0])
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{one}/stat").read_bytes().rpartition(b")")[2].split()
                ticks = int(fields[13]) + int(fields[14])
                processes[one] = time.clock_gettime_ns((~one << 3) | 2)  # CPUCLOCK_SCHED
                reaped[one] = ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        return cls(threads, processes, reaped)

    def since(self, before: Usage) -> dict[int, int]:
        """What was used by thread, those that ended together as `ENDED`; empty where nothing is known."""
        if not before.threads:
            return {}
        used = {thread: ns - before.threads.get(thread, 0) for thread, ns in self.threads.items()}
        of_processes = sum(ns - before.processes.get(one, 0) for one, ns in self.processes.items())
        of_children = sum(ns - before.reaped.get(one, 0) for one, ns in self.reaped.items())
        # Who waited for them got all that they ever used.
        gone = before.processes.keys() - self.processes.keys()
        of_children -= sum(before.processes[one] + before.reaped[one] for one in gone)
        ended = max(0, of_processes - sum(used.values())) + max(0, of_children)
        if ended > _ROUNDING * (ended + sum(used.values())):
            used[ENDED] = ended
        return used
