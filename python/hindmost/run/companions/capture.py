"""The packet capture beside a run, where one is asked for; a run goes on without one that cannot be had."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from hindmost.errors import HindmostError
from hindmost.plan import MeasurePlan
from hindmost.plan.measure import FLAT_OUT_PER_S


class Beside:
    """What a run tells its witness, and what that leaves in the run's record."""

    def __init__(
        self, plan: MeasurePlan, place: Path, address: str, seconds: float, stack: ExitStack
    ) -> None:
        self._witness = None
        self._over = False
        self._fault: HindmostError | None = None
        self.asked = plan.verify_wire
        if not self.asked:
            return
        from hindmost.capture import Witness

        try:
            self._witness = stack.enter_context(
                Witness(place, address, _to_be_captured(plan), seconds, _off_the_clients(plan))
            )
        except HindmostError as error:
            self._fault = error

    def measuring(self, ports: Sequence[int]) -> None:
        """All instances are warm; the measurement has not been ordered yet."""
        if self._witness is not None:
            self._witness.measuring(ports)

    def over(self) -> None:
        """The measurement is over; may be said more than once."""
        if self._witness is not None and not self._over:
            self._over = True
            self._witness.over()

    def record(self, instances: int) -> dict[str, Any]:
        """What goes into the run's record: counts, or why there are none; nothing if no capture is asked."""
        if not self.asked:
            return {}
        try:
            if self._witness is not None:
                return {"witness": self._witness.matched(instances)}
        except HindmostError as error:
            self._fault = error
        assert self._fault is not None
        return {"witness": {"fault": self._fault.message, "hint": self._fault.hint}}


@contextmanager
def witnessed(plan: MeasurePlan, place: Path, address: str, seconds: float) -> Iterator[Beside]:
    """Capture a run, if that is asked for; nothing of it is left afterwards but the matched requests."""
    with ExitStack() as stack:
        yield Beside(plan, place, address, seconds, stack)


def _to_be_captured(plan: MeasurePlan) -> float:
    """Requests a second on the connections that are witnessed."""
    rate = plan.rate_per_s or FLAT_OUT_PER_S * plan.clients * plan.threads
    return rate * plan.captured_share


def _off_the_clients(plan: MeasurePlan) -> list[int]:
    """Processors that no client has: what runs there does not disturb one; all, where there are no others."""
    clients = {cpu for cpus in plan.client_cpus for cpu in cpus}
    mine = os.sched_getaffinity(0) | set(plan.server_cpus)
    return sorted(mine - clients or mine)
