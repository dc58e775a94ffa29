"""Companions accompany a run and add to its record: one file each, and one line in `COMPANIONS`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from hindmost.core.run.companions.capture import PacketCapture
from hindmost.core.run.companions.companion import Companion, Scene
from hindmost.core.run.companions.sentinel import Sentinel
from hindmost.core.run.companions.server import ServerCounters
from hindmost.core.run.companions.stages import StageTrace
from hindmost.core.store.manifest import Fault
from hindmost.errors import HindmostError

__all__ = ["COMPANIONS", "Companion", "Companions", "Scene", "accompany"]

COMPANIONS: tuple[type[Companion], ...] = (ServerCounters, Sentinel, PacketCapture, StageTrace)
"""The registry. The first is nearest to the measurement: last to learn of its start, first of its end."""


class Companions:
    """All companions of one run, and the faults of those that failed, which are not called again."""

    def __init__(self, companions: Sequence[Companion]) -> None:
        self._companions = companions
        self._faults: dict[str, HindmostError] = {}
        self._has_ended = False

    def enter(self, stack: ExitStack) -> None:
        """Enter all companions; no client runs yet."""
        for companion in self._working(self._companions):
            with self._keep_fault(companion):
                companion.enter(stack)

    def before_measurement(self, ports: Sequence[int]) -> None:
        """Tell all companions that clients are warm; the measurement is ordered when this returns."""
        for companion in self._working(reversed(self._companions)):
            with self._keep_fault(companion):
                companion.before_measurement(ports)

    def after_measurement(self) -> None:
        """Tell all companions that the measurement is over. Further calls have no effect."""
        if self._has_ended:
            return
        self._has_ended = True
        for companion in self._working(self._companions):
            with self._keep_fault(companion):
                companion.after_measurement()

    def record(self) -> dict[str, Any]:
        """Return the records of all companions; for failed ones, the fault."""
        records: dict[str, Any] = {}
        for companion in self._working(self._companions):
            with self._keep_fault(companion):
                records |= companion.record()
        return records | {
            name: Fault(code=error.code, fault=error.message, hint=error.hint)
            for name, error in self._faults.items()
        }

    def _working(self, companions: Iterable[Companion]) -> list[Companion]:
        return [companion for companion in companions if companion.name not in self._faults]

    @contextmanager
    def _keep_fault(self, companion: Companion) -> Iterator[None]:
        try:
            yield
        except HindmostError as error:
            if companion.on_fault == "refuse":
                raise
            self._faults[companion.name] = error


@contextmanager
def accompany(scene: Scene, companions: Sequence[type[Companion]] = COMPANIONS) -> Iterator[Companions]:
    """Accompany a run with all companions that its plan needs; release what they hold at the end."""
    with ExitStack() as stack:
        company = Companions([kind(scene) for kind in companions if kind.applies_to(scene.plan)])
        company.enter(stack)
        yield company
