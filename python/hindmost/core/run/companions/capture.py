"""The packet capture of a run, if requested. Only the matched requests are kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.measure import FLAT_OUT_PER_S
from hindmost.core.run.companions.companion import Companion, Scene
from hindmost.core.store.manifest import Witness


class PacketCapture(Companion):
    """Records packets of the run with a `hindmost.core.capture.RunCapture`."""

    name = "witness"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        from hindmost.core.capture import RunCapture

        plan = scene.plan
        self._witness = RunCapture(
            scene.folder, scene.address, _captured_per_s(plan), scene.seconds, _spare_cpus(plan)
        )

    @classmethod
    def applies_to(cls, plan: MeasurePlan) -> bool:
        """Apply with ``--verify-wire``."""
        return plan.verify_wire

    def enter(self, stack: ExitStack) -> None:
        """Capture opening packets, to learn which client opens which connection."""
        stack.enter_context(self._witness)

    def before_measurement(self, ports: Sequence[int]) -> None:
        """Capture all packets from now on."""
        self._witness.start(ports)

    def after_measurement(self) -> None:
        """End the capture."""
        self._witness.finish()

    def record(self) -> dict[str, Any]:
        """Match the captured packets to the requests of all clients; return the counts."""
        return {"witness": Witness(**self._witness.match(self.scene.plan.clients))}


def _captured_per_s(plan: MeasurePlan) -> float:
    """Return requests per second on the captured connections."""
    rate = plan.rate_per_s or FLAT_OUT_PER_S * plan.clients * plan.threads
    return rate * plan.captured_share


def _spare_cpus(plan: MeasurePlan) -> list[int]:
    """Return the CPUs without clients, where work disturbs none of them; all CPUs if there are no others."""
    clients = {cpu for cpus in plan.client_cpus for cpu in cpus}
    mine = os.sched_getaffinity(0) | set(plan.server_cpus)
    return sorted(mine - clients or mine)
