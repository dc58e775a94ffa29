"""What a companion of a run is: entered before the load, told of two moments, asked for its record."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from hindmost.plan import MeasurePlan


@dataclass(frozen=True, slots=True)
class Scene:
    """What a companion may know of its run.

    ``folder``: the run's, still hidden; ``address``: where the server listens; ``pid``: its first process,
    None where it runs elsewhere; ``seconds``: length of calibration and measurement; ``protocol``: what its
    clients speak, as targets name it.
    """

    plan: MeasurePlan
    folder: Path
    address: str
    pid: int | None
    seconds: float
    protocol: str = ""


class Companion:
    """Accompanies one run; overrides what it needs.

    ::

        enter ── start ── connect ── warm-up ── measuring ─┬─ calibrate, measure ─┬─ over ── record ── left
                                                           └── nothing runs here ─┘

    A `HindmostError` in any of the four is its fault. The run goes on without it and the fault is kept under
    `name` in the run's record, or, where `on_fault` says so, the run ends with that error.

    Parameters
    ----------
    scene : Scene
        The run.
    """

    name: ClassVar[str]
    on_fault: ClassVar[Literal["record", "refuse"]] = "record"

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    @classmethod
    def asked(cls, plan: MeasurePlan) -> bool:
        """Whether a run of this plan is accompanied."""
        return True

    def enter(self, stack: ExitStack) -> None:
        """The server listens, no client runs yet; what has to be undone goes onto the stack."""

    def measuring(self, ports: Sequence[int]) -> None:
        """All clients are warm, and the measurement has not been ordered yet.

        Parameters
        ----------
        ports : sequence of int
            Ports of the connections that the plan wants witnessed.
        """

    def over(self) -> None:
        """The measurement is over; clients still write their files."""

    def record(self) -> dict[str, Any]:
        """What goes into ``run.json``; the clients' files are in the run's folder."""
        return {}
