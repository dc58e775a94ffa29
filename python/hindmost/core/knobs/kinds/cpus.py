"""The server's CPUs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.knobs.knob import Idle, refuse_level
from hindmost.core.notes import Note
from hindmost.core.targets import Managed, ManagedServer, TargetSpec, cpu_affinity
from hindmost.core.targets.cpus import format_cpus, parse_cpus
from hindmost.core.targets.launch import check_cpus
from hindmost.errors import HostUnfit

FREE = "free"


@dataclass(frozen=True)
class Cpus(Idle):
    """The CPUs that the server starts on: a list such as ``0-3,5``, or ``free``."""

    target: TargetSpec
    name: str = "cpus"
    sets: frozenset[str] = frozenset({"server:cpus"})

    def cpus(self, level: str) -> list[int] | None:
        """Return the level as numbers; None: any."""
        try:
            return None if level == FREE else parse_cpus(level)
        except ValueError as error:
            raise refuse_level(self.name, level, str(error), 'levels = ["free", "0", "0-1"]') from None

    def check(self, level: str) -> None:  # noqa: D102
        check_cpus(self.target, self.cpus(level))

    def spec(self, spec: TargetSpec, level: str) -> TargetSpec:  # noqa: D102
        return spec.model_copy(update={"cpus": self.cpus(level)})

    def on_server(self, level: str, server: ManagedServer) -> AbstractContextManager[None]:  # noqa: D102
        allowed = self.cpus(level)
        for pid in server.pids() if allowed else []:
            actual = cpu_affinity(pid)
            if not set(actual) <= set(allowed or []):
                raise HostUnfit(
                    "setting-differs",
                    f"cpus were set to {level}, but process {pid} of the server may run on "
                    f"{format_cpus(actual)}: it chooses its CPUs itself",
                    hint="leave this factor out, or see the server's own options",
                    name=self.name,
                    value=level,
                    found=format_cpus(actual),
                    pid=pid,
                )
        return nullcontext()


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> Cpus:
    """Make the setting ``cpus = true``."""
    return Cpus(target.spec)


def missing() -> Note | None:
    """Return None: it is always available."""
    return None
