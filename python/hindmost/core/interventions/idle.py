"""Idle scheduling priority for the threads of a neighbour."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass

from hindmost.core.interventions.changes import SuspectGone
from hindmost.core.knobs import steps
from hindmost.core.knobs.steps import Step
from hindmost.core.targets.procfs import thread_ids

_POLICIES = {os.SCHED_OTHER, os.SCHED_BATCH, os.SCHED_IDLE}
"""Scheduling policies without priorities."""


@dataclass(frozen=True)
class IdlePriority:
    """Threads under SCHED_IDLE: a neighbour keeps running, but only on CPUs that would be idle."""

    name: str
    description: str
    found: Mapping[int, int]
    """Original policy by thread id. Real-time threads are not included, so they keep theirs."""

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return steps.schedule(self.found)

    def remove(self) -> None:  # noqa: D102
        done = [_schedule(tid, os.SCHED_IDLE) for tid in self.found]
        if not any(done):
            raise SuspectGone("threads-ended", f"{self.name}: its threads have ended", name=self.name)

    def give_back(self) -> None:  # noqa: D102
        for tid, policy in self.found.items():
            _schedule(tid, policy)

    def is_gone(self) -> bool:  # noqa: D102
        return any(_policy(tid) == os.SCHED_IDLE for tid in self.found)


def _schedule(tid: int, policy: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.sched_setscheduler(tid, policy, os.sched_param(0))
        return True
    return False


def _policy(tid: int) -> int | None:
    with contextlib.suppress(ProcessLookupError):
        return os.sched_getscheduler(tid)
    return None


def make_idle(name: str, description: str, pids: list[int]) -> IdlePriority:
    """Build the intervention that puts the current threads of `pids` under SCHED_IDLE."""
    found = {tid: policy for tid in thread_ids(pids) if (policy := _policy(tid)) in _POLICIES}
    return IdlePriority(
        name, description, {tid: policy for tid, policy in found.items() if policy is not None}
    )
