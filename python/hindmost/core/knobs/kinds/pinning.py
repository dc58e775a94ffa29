"""Pinning of the server's threads: each to a CPU, or each process to one.

The variability paper (WWW '19, section 8) pins all threads of an Apache process to one core, and the next
process to another: the level ``process``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.knobs.knob import Idle, refuse_level
from hindmost.core.knobs.tasks import Task, set_on_each, tasks
from hindmost.core.notes import Note
from hindmost.core.targets import Managed, ManagedServer, TargetSpec
from hindmost.core.targets.cpus import format_cpus, parse_cpus
from hindmost.core.targets.launch import check_cpus

FREE, EACH, PROCESS = "free", "each", "process"
LEVELS = "free, each, process, each:CPUS, process:CPUS, CPUS"


class Processors(frozenset[int]):
    """A set of CPUs that prints as users write it."""

    def __repr__(self) -> str:
        return f"CPUs {format_cpus(self)}"

    __str__ = __repr__


@dataclass(frozen=True)
class Pinning(Idle):
    """Where each thread may run, on the server's CPUs in turn or on those of the level.

    ``each``: every thread has one CPU, in turn; ``process``: all threads of a process have the same one, the
    next process the next; ``0-1``: every thread may run on these.
    """

    target: TargetSpec
    pattern: str = "*"

    @property
    def name(self) -> str:  # noqa: D102
        return "pinning" if self.pattern == "*" else f"pinning {self.pattern}"

    @property
    def sets(self) -> frozenset[str]:  # noqa: D102
        return frozenset({f"server:pinning.{self.pattern}"})

    def parts(self, level: str) -> tuple[str, list[int] | None]:
        """Return how threads are distributed, and over which CPUs (None: the server's)."""
        if level in (FREE, EACH, PROCESS):
            return level, None
        mode, colon, cpus = level.rpartition(":")
        try:
            if colon and mode not in (EACH, PROCESS):
                raise ValueError(f"only {LEVELS}")
            return mode, parse_cpus(cpus)
        except ValueError as error:
            raise refuse_level(self.name, level, str(error), f"levels are {LEVELS}") from None

    def check(self, level: str) -> None:  # noqa: D102
        check_cpus(self.target, self.parts(level)[1])

    def on_server(self, level: str, server: ManagedServer) -> AbstractContextManager[None]:  # noqa: D102
        mode, cpus = self.parts(level)
        if mode == FREE:
            return nullcontext()
        available = cpus or sorted(set().union(*(read(task.tid) for task in tasks(server))))

        def assign(index: int, task: Task) -> Processors:
            if not mode:
                return Processors(available)
            return Processors({available[(index if mode == EACH else task.process) % len(available)]})

        return set_on_each(self.name, server, self.pattern, assign, read, write)


def read(tid: int) -> Processors:
    """Return the CPUs that a thread may use."""
    return Processors(os.sched_getaffinity(tid))


def write(tid: int, cpus: Processors) -> None:
    """Set the CPUs that a thread may use."""
    os.sched_setaffinity(tid, cpus)


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> Pinning:
    """Make the setting ``pinning = true``, or ``pinning = "PATTERN"`` for threads with such names."""
    pattern = what["pinning"]
    return Pinning(target.spec) if pattern is True else Pinning(target.spec, pattern)


def missing() -> Note | None:
    """Return why threads cannot be distributed over CPUs."""
    if len(os.sched_getaffinity(0)) > 1:
        return None
    return Note("few-processors", "this process may use only one CPU", {"have": 1, "need": 2})
