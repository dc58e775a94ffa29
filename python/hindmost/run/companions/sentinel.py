"""The sentinel: a thread of ours on each processor of the server, which sees when others have it.

It takes up to 2 % of the processor (docs/concepts/calm-latency.md has what was measured), so it
is told, and ``--sentinel off`` does without. Where clients sleep it watches their processors, too: a spinning
client sees for itself when its own is away.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from hindmost import _engine
from hindmost.errors import HindmostError
from hindmost.plan import MeasurePlan
from hindmost.run.companions.companion import Companion, Scene
from hindmost.run.sharing import apart
from hindmost.targets import cpu_affinity

PERIOD_NS = 1_000_000
"""How often it wakes. A theft shorter than this may fall between two wakings."""
REAL_TIME = True
"""Ask for real-time priority; `benches.thefts` shows what is known without."""


class Sentinel(Companion):
    """Watches processors in the measurement, a little longer: at real-time priority, if it may."""

    name = "sentinel"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._cpus = _watched(scene)
        self._threads: _engine.Sentinel | None = None
        self._seen: list[dict[str, Any]] = []

    @classmethod
    def asked(cls, plan: MeasurePlan) -> bool:
        """Unless it is turned off, and not in a closed loop, which has no calm latency."""
        return plan.sentinel == "auto" and plan.loop == "open"

    def enter(self, stack: ExitStack) -> None:
        """End with the run, however it ends."""
        stack.callback(self.over)

    def measuring(self, ports: Sequence[int]) -> None:
        """Begin to watch."""
        try:
            self._threads = _engine.Sentinel(self._cpus, PERIOD_NS, REAL_TIME) if self._cpus else None
        except _engine.EngineError as error:
            raise HindmostError(
                "no-sentinel",
                f"no thread can watch the server's CPUs: {error.args[1]}",
                hint="run as root, or with CAP_SYS_NICE",
                cpus=self._cpus,
            ) from None

    def over(self) -> None:
        """Watch no more."""
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
        """What was seen, by processor (``Watched`` of the engine); empty where no processor can be named."""
        return {"sentinel": self._seen}


def _watched(scene: Scene) -> list[int]:
    """Processors of the server; those of sleeping clients.

    None where the server runs elsewhere, or where clients share its processors, and thefts could not be told
    from its work: a thread of ours would only be one more to wait for.
    """
    if scene.pid is None:
        return []
    cpus = set(scene.plan.server_cpus or cpu_affinity(scene.pid))
    if not apart(scene.plan, cpus):
        return []
    if scene.plan.pacing == "sleep":
        cpus.update(*(one or tuple(os.sched_getaffinity(0)) for one in scene.plan.client_cpus))
    return sorted(cpus)
