"""CPU time of a server's threads, including those that end during a trace."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hindmost.core.documents import read_kernel
from hindmost.core.targets.procfs import process_tree, thread_ids

ENDED = 0
"""Key for all threads and processes that ended."""
_ROUNDING = 0.001
"""Relative rounding error: threads and processes are read at different moments and resolutions."""


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU time used so far, ns.

    Attributes
    ----------
    threads : mapping of int
        By thread id (``/proc/PID/task/TID/schedstat``).
    processes : mapping of int
        By process id, including ended threads (clock_getcpuclockid(3)).
    reaped : mapping of int
        By process id: CPU time of its ended children that it waited for, in steps of 10 ms (proc(5),
        ``cutime``). The kernel does not count children that no process waits for, because SIGCHLD is ignored.
    """

    threads: Mapping[int, int]
    processes: Mapping[int, int]
    reaped: Mapping[int, int]

    @classmethod
    def read(cls, pid: int | None) -> Self:
        """Read the CPU time of a process and its descendants; empty if the process is unknown."""
        threads: dict[int, int] = {}
        processes: dict[int, int] = {}
        reaped: dict[int, int] = {}
        for one in [] if pid is None else process_tree(pid):
            for tid in thread_ids([one]):
                with contextlib.suppress(OSError):
                    threads[tid] = int(read_kernel(f"/proc/{one}/task/{tid}/schedstat").split()[0])
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{one}/stat").read_bytes().rpartition(b")")[2].split()
                ticks = int(fields[13]) + int(fields[14])
                processes[one] = time.clock_gettime_ns((~one << 3) | 2)  # CPUCLOCK_SCHED
                reaped[one] = ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        return cls(threads, processes, reaped)

    def since(self, before: Usage) -> dict[int, int]:
        """Return the CPU time by thread since `before`, ns, ended threads as `ENDED`; empty if unknown."""
        if not before.threads:
            return {}
        used = {thread: ns - before.threads.get(thread, 0) for thread, ns in self.threads.items()}
        of_processes = sum(ns - before.processes.get(one, 0) for one, ns in self.processes.items())
        of_children = sum(ns - before.reaped.get(one, 0) for one, ns in self.reaped.items())
        # The process that waited for them was credited with all that they ever used.
        gone = before.processes.keys() - self.processes.keys()
        of_children -= sum(before.processes[one] + before.reaped[one] for one in gone)
        ended = max(0, of_processes - sum(used.values())) + max(0, of_children)
        if ended > _ROUNDING * (ended + sum(used.values())):
            used[ENDED] = ended
        return used
