"""The interface of a run's companions: entered before the load, called before and after the measurement."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from hindmost.core.plan import MeasurePlan


@dataclass(frozen=True, slots=True)
class Scene:
    """What a companion may know of its run.

    ``folder``: the run's, still hidden; ``address``: where the server listens; ``pid``: its first process,
    None if it runs on another host; ``seconds``: duration of calibration and measurement; ``protocol``: name
    of the protocol, as in targets.
    """

    plan: MeasurePlan
    folder: Path
    address: str
    pid: int | None
    seconds: float
    protocol: str = ""


class Companion:
    """Accompanies one run. Subclasses override the hooks that they need.

    ::

        enter ── start ── connect ── warm-up ── before_measurement ─┬─ calibrate, measure ─┬─
        after_measurement ── record
                                                                    └── nothing runs here ─┘

    A `HindmostError` in a hook is the companion's fault. The run goes on without it, and its record has the
    fault under `name`. If `on_fault` is ``"refuse"``, the run ends with that error instead.

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
    def applies_to(cls, plan: MeasurePlan) -> bool:
        """Whether runs of this plan have this companion."""
        return True

    def enter(self, stack: ExitStack) -> None:
        """Prepare: the server listens, no client runs yet. Put what must be undone onto the stack."""

    def before_measurement(self, ports: Sequence[int]) -> None:
        """Start: all clients are warm, and the measurement has not been ordered yet.

        Parameters
        ----------
        ports : sequence of int
            Ports of the connections to capture.
        """

    def after_measurement(self) -> None:
        """Stop: the measurement is over, while clients still write their files."""

    def record(self) -> dict[str, Any]:
        """Return what goes into ``run.json``; the clients' files are in the run's folder."""
        return {}
