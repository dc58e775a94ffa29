"""The sentinel: one of our threads on each CPU of the server, which observes when others use it.

It uses up to 2 % of the CPU (docs/concepts/isolated-latency.md has the measurements). The record says so, and
``--sentinel off`` turns it off. If clients sleep, it watches their CPUs too; a spinning client sees its own
interruptions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from hindmost import _engine
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.companions.companion import Companion, Scene
from hindmost.core.run.sharing import apart
from hindmost.core.targets import cpu_affinity
from hindmost.errors import HindmostError

PERIOD_NS = 1_000_000
"""How often it wakes, in ns. A shorter interruption may fall between two wake-ups."""
REAL_TIME = True
"""Request real-time priority; `benches.interruptions` shows what can be known without it."""


class Sentinel(Companion):
    """Watches CPUs slightly longer than the measurement, at real-time priority if permitted."""

    name = "sentinel"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._cpus = _cpus_to_watch(scene)
        self._threads: _engine.Sentinel | None = None
        self._seen: list[dict[str, Any]] = []

    @classmethod
    def applies_to(cls, plan: MeasurePlan) -> bool:
        """Apply unless turned off, or in a closed loop, which has no isolated latency."""
        return plan.sentinel == "auto" and plan.loop == "open"

    def enter(self, stack: ExitStack) -> None:
        """End with the run, also after an error."""
        stack.callback(self.after_measurement)

    def before_measurement(self, ports: Sequence[int]) -> None:
        """Start to watch."""
        try:
            self._threads = _engine.Sentinel(self._cpus, PERIOD_NS, REAL_TIME) if self._cpus else None
        except _engine.EngineError as error:
            raise HindmostError(
                "no-sentinel",
                f"no thread can watch the server's CPUs: {error.args[1]}",
                hint="run as root, or with CAP_SYS_NICE",
                cpus=self._cpus,
            ) from None

    def after_measurement(self) -> None:
        """Stop watching and keep what was observed."""
        if self._threads is not None:
            threads, self._threads = self._threads, None
            try:
                self._seen = json.loads(threads.end())
            except _engine.EngineError as error:
                raise HindmostError(
                    "no-sentinel",
                    f"the sentinel never got its CPU back: {error.args[1]}",
                    hint="`top -H -o %CPU` shows programs at real-time priority; use a quieter host",
                    cpus=self._cpus,
                ) from None

    def record(self) -> dict[str, Any]:
        """Return the observations by CPU (the engine's ``Watched``); empty if the CPUs are unknown."""
        return {"sentinel": self._seen}


def _cpus_to_watch(scene: Scene) -> list[int]:
    """Return the server's CPUs, and those of sleeping clients.

    Empty if the server runs elsewhere. Also empty if clients share its CPUs: interference cannot be separated
    from their work then, and our threads would only add to it.
    """
    if scene.pid is None:
        return []
    cpus = set(scene.plan.server_cpus or cpu_affinity(scene.pid))
    if not apart(scene.plan, cpus):
        return []
    if scene.plan.pacing == "sleep":
        cpus.update(*(client or tuple(os.sched_getaffinity(0)) for client in scene.plan.client_cpus))
    return sorted(cpus)
