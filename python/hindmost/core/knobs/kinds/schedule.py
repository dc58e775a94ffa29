"""Scheduling policy and nice value of the server's threads."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.knobs.knob import Idle, refuse_level
from hindmost.core.knobs.tasks import set_on_each
from hindmost.core.notes import Note
from hindmost.core.targets import Managed, ManagedServer
from hindmost.errors import HostUnfit

POLICIES = {"other": os.SCHED_OTHER, "batch": os.SCHED_BATCH, "idle": os.SCHED_IDLE}
REAL_TIME = {"fifo": os.SCHED_FIFO, "rr": os.SCHED_RR}
LEVELS = "found, other, batch, idle, nice:-20..19, fifo:1..99, rr:1..99"
_NAMES = {number: name for name, number in {**POLICIES, **REAL_TIME}.items()}
FOUND = "found"


@dataclass(frozen=True)
class Setting:
    """Scheduling of one thread: policy, real-time priority, nice value (``sched(7)``)."""

    policy: int
    priority: int = 0
    nice: int = 0

    def __str__(self) -> str:
        return f"{_NAMES.get(self.policy, self.policy)} (priority {self.priority}, nice {self.nice})"


@dataclass(frozen=True)
class Schedule(Idle):
    """Policy and nice value of all threads, or of those matching a pattern by name; children inherit them."""

    pattern: str = "*"

    @property
    def name(self) -> str:  # noqa: D102
        return "schedule" if self.pattern == "*" else f"schedule {self.pattern}"

    @property
    def sets(self) -> frozenset[str]:  # noqa: D102
        return frozenset({f"server:schedule.{self.pattern}"})

    def setting(self, level: str) -> Setting | None:
        """Return the setting of a level; None: unchanged."""
        if level == FOUND:
            return None
        if level in POLICIES:
            return Setting(POLICIES[level])
        match = re.fullmatch(r"(nice|fifo|rr):(-?\d{1,2})", level, re.ASCII)
        if match is None:
            raise refuse_level(self.name, level, f"only {LEVELS}", known=LEVELS.split(", "))
        kind, number = match[1], int(match[2])
        if not (-20 <= number <= 19 if kind == "nice" else 1 <= number <= 99):
            raise refuse_level(self.name, level, f"only {LEVELS}", known=LEVELS.split(", "))
        return Setting(os.SCHED_OTHER, 0, number) if kind == "nice" else Setting(REAL_TIME[kind], number)

    def check(self, level: str) -> None:  # noqa: D102
        setting = self.setting(level)
        if setting is not None and (refusal := _try_setting(setting)):
            raise HostUnfit(
                "setting-refused",
                f"{self.name} cannot be {level} here: {refusal}",
                hint="run as root",
                name=self.name,
                value=level,
            )

    def on_server(self, level: str, server: ManagedServer) -> AbstractContextManager[None]:  # noqa: D102
        setting = self.setting(level)
        if setting is None:
            return nullcontext()
        return set_on_each(self.name, server, self.pattern, lambda *_: setting, read, write)


def read(tid: int) -> Setting:
    """Return the scheduling of a thread; 0: the caller."""
    policy = os.sched_getscheduler(tid) & ~os.SCHED_RESET_ON_FORK
    # A nice value has no effect on a real-time thread; a priority has none on others.
    nice = 0 if policy in REAL_TIME.values() else os.getpriority(os.PRIO_PROCESS, tid)
    return Setting(policy, os.sched_getparam(tid).sched_priority, nice)


def write(tid: int, setting: Setting) -> None:
    """Set the scheduling of a thread; 0: the caller."""
    os.sched_setscheduler(tid, setting.policy, os.sched_param(setting.priority))
    if setting.policy not in REAL_TIME.values():
        os.setpriority(os.PRIO_PROCESS, tid, setting.nice)


def _try_setting(setting: Setting) -> str | None:
    """Try a setting on a new thread of ours; return why the kernel refuses it, or None."""
    outcome: list[str | None] = []

    def probe() -> None:
        try:
            write(0, setting)
            outcome.append(None)
        except OSError as error:
            outcome.append(error.strerror)

    thread = threading.Thread(target=probe)
    thread.start()
    thread.join()
    return outcome[0]


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> Schedule:
    """Make the setting ``schedule = true``, or ``schedule = "PATTERN"`` for threads with such names."""
    return Schedule() if what["schedule"] is True else Schedule(what["schedule"])


def missing() -> Note | None:
    """Return which policies are not available."""
    refused = {name: why for name, why in _refusals() if why}
    if not refused:
        return None
    text = "; ".join(f"{name}: {why}" for name, why in refused.items())
    return Note("needs-root", text, {"names": list(refused)})


def _refusals() -> list[tuple[str, str | None]]:
    return [
        ("real-time policies", _try_setting(Setting(os.SCHED_FIFO, 1))),
        ("nice:-1", _try_setting(Setting(0, 0, -1))),
    ]
