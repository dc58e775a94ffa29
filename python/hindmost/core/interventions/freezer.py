"""The freezer of cgroups, which stops all processes of a cgroup at once."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hindmost.core.documents import read_kernel
from hindmost.core.interventions.changes import SuspectGone
from hindmost.core.knobs import steps
from hindmost.core.knobs.steps import Step


@dataclass(frozen=True)
class Freeze:
    """All processes of a cgroup, stopped by the freezer, with those that are started meanwhile."""

    group: str
    path: Path
    """``freezer.state`` (v1) or ``cgroup.freeze`` (v2)."""
    program: ClassVar[bool] = True

    @property
    def name(self) -> str:  # noqa: D102
        return f"neighbours in {self.group}"

    @property
    def description(self) -> str:  # noqa: D102
        return f"freeze the cgroup {self.group}"

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return [steps.write(self.path, self._states[1])]

    @property
    def _states(self) -> tuple[str, str]:
        return ("FROZEN", "THAWED") if self.path.name == "freezer.state" else ("1", "0")

    def remove(self) -> None:  # noqa: D102
        self._write(self._states[0])

    def give_back(self) -> None:  # noqa: D102
        with contextlib.suppress(SuspectGone):
            self._write(self._states[1])

    def _write(self, word: str) -> None:
        try:
            self.path.write_text(word)
        except OSError:
            raise SuspectGone(
                "no-such-file", f"the cgroup {self.group} no longer exists", path=str(self.path)
            ) from None

    def is_gone(self) -> bool:  # noqa: D102
        with contextlib.suppress(OSError):
            if self.path.name == "freezer.state":
                return self.path.read_text().strip() in ("FROZEN", "FREEZING")
            return "frozen 1" in (self.path.parent / "cgroup.events").read_text()
        return False


def freezer_of(pid: int) -> tuple[str, Path] | None:
    """Return the freezer of a process's own cgroup (v1 first); None in the root or without a freezer."""
    with contextlib.suppress(OSError):
        lines = [line.split(":", 2) for line in read_kernel(f"/proc/{pid}/cgroup").splitlines()]
        for _, controllers, path in sorted(lines, key=lambda line: line[1], reverse=True):
            if path == "/":
                continue
            if "freezer" in controllers.split(","):
                tops, file = ["freezer"], "freezer.state"
            elif not controllers:
                tops, file = ["", "unified"], "cgroup.freeze"
            else:
                continue
            for top in tops:
                place = Path("/sys/fs/cgroup", top, path[1:], file)
                if place.is_file():
                    return path, place
    return None


def members(freezer: Path) -> set[int]:
    """Return the processes of a cgroup and its descendants; the freezer stops them all."""
    found: set[int] = set()
    for folder, _, _ in os.walk(freezer.parent):  # passes over groups that are removed meanwhile
        with contextlib.suppress(OSError):
            found |= {int(one) for one in Path(folder, "cgroup.procs").read_text().split()}
    return found
