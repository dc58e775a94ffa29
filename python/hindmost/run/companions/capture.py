"""The packet capture next to a run, if one is wanted; only the matched requests are kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from hindmost.plan import MeasurePlan
from hindmost.plan.measure import FLAT_OUT_PER_S
from hindmost.run.companions.companion import Companion, Scene


class PacketCapture(Companion):
    """A `hindmost.capture.Witness` of the run."""

    name = "witness"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        from hindmost.capture import Witness

        plan = scene.plan
        self._witness = Witness(
            scene.folder, scene.address, _to_be_captured(plan), scene.seconds, _off_the_clients(plan)
        )

    @classmethod
    def asked(cls, plan: MeasurePlan) -> bool:
        """With ``--verify-wire``."""
        return plan.verify_wire

    def enter(self, stack: ExitStack) -> None:
        """Capture who opens a connection."""
        stack.enter_context(self._witness)

    def measuring(self, ports: Sequence[int]) -> None:
        """Capture all packets from here on."""
        self._witness.measuring(ports)

    def over(self) -> None:
        """Capture no more."""
        self._witness.over()

    def record(self) -> dict[str, Any]:
        """Match the requests of all clients; how many were."""
        return {"witness": self._witness.matched(self.scene.plan.clients)}


def _to_be_captured(plan: MeasurePlan) -> float:
    """Requests a second on the connections that are witnessed."""
    rate = plan.rate_per_s or FLAT_OUT_PER_S * plan.clients * plan.threads
    return rate * plan.captured_share


def _off_the_clients(plan: MeasurePlan) -> list[int]:
    """Processors that no client has: what runs there does not disturb one; all, where there are no others."""
    clients = {cpu for cpus in plan.client_cpus for cpu in cpus}
    mine = os.sched_getaffinity(0) | set(plan.server_cpus)
    return sorted(mine - clients or mine)
