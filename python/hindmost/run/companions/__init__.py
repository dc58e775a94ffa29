"""What accompanies a run and adds to its record: one file a companion, one line in `COMPANIONS`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from hindmost.errors import HindmostError
from hindmost.run.companions.capture import PacketCapture
from hindmost.run.companions.companion import Companion, Scene
from hindmost.run.companions.sentinel import Sentinel
from hindmost.run.companions.server import ServerCounters
from hindmost.run.companions.stages import StageTrace

__all__ = ["COMPANIONS", "Companion", "Companions", "Scene", "accompanied"]

COMPANIONS: tuple[type[Companion], ...] = (ServerCounters, Sentinel, PacketCapture, StageTrace)
"""The registry. The first is nearest to the measurement: last to hear of its beginning, first of its end."""


class Companions:
    """All companions of one run, and the faults of those that failed: these are told nothing more."""

    def __init__(self, companions: Sequence[Companion]) -> None:
        self._companions = companions
        self._faults: dict[str, HindmostError] = {}
        self._over = False

    def enter(self, stack: ExitStack) -> None:
        """No client runs yet."""
        for one in self._well(self._companions):
            with self._fault_kept(one):
                one.enter(stack)

    def measuring(self, ports: Sequence[int]) -> None:
        """All clients are warm; the measurement is ordered when this returns."""
        for one in self._well(reversed(self._companions)):
            with self._fault_kept(one):
                one.measuring(ports)

    def over(self) -> None:
        """The measurement is over; may be said more than once."""
        if self._over:
            return
        self._over = True
        for one in self._well(self._companions):
            with self._fault_kept(one):
                one.over()

    def record(self) -> dict[str, Any]:
        """The records of all; for one that failed, why."""
        found: dict[str, Any] = {}
        for one in self._well(self._companions):
            with self._fault_kept(one):
                found |= one.record()
        return found | {
            name: {"code": error.code, "fault": error.message, "hint": error.hint}
            for name, error in self._faults.items()
        }

    def _well(self, companions: Iterable[Companion]) -> list[Companion]:
        return [one for one in companions if one.name not in self._faults]

    @contextmanager
    def _fault_kept(self, one: Companion) -> Iterator[None]:
        try:
            yield
        except HindmostError as error:
            if one.on_fault == "refuse":
                raise
            self._faults[one.name] = error


@contextmanager
def accompanied(scene: Scene, companions: Sequence[type[Companion]] = COMPANIONS) -> Iterator[Companions]:
    """Accompany a run with all that its plan asks for; whatever they hold is let go at the end."""
    with ExitStack() as stack:
        company = Companions([one(scene) for one in companions if one.asked(scene.plan)])
        company.enter(stack)
        yield company
