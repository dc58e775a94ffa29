"""Interventions by priority, by cgroup and by link: beyond or gentler than the pause of one process."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hindmost.documents import read_kernel
from hindmost.interventions.changes import Gone, threads
from hindmost.knobs import steps
from hindmost.knobs.steps import Step

_POLICIES = {os.SCHED_OTHER, os.SCHED_BATCH, os.SCHED_IDLE}
"""Those without priorities."""


@dataclass(frozen=True)
class Yield:
    """Threads that run only where nobody else wants to (SCHED_IDLE): a neighbour goes on, harmlessly."""

    name: str
    about: str
    found: Mapping[int, int]
    """Policy of each thread; those of real-time threads are left alone."""

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return steps.schedule(self.found)

    def remove(self) -> None:  # noqa: D102
        done = [_schedule(tid, os.SCHED_IDLE) for tid in self.found]
        if not any(done):
            raise Gone("threads-ended", f"{self.name}: its threads have ended", name=self.name)

    def give_back(self) -> None:  # noqa: D102
        for tid, policy in self.found.items():
            _schedule(tid, policy)

    def arrived(self) -> bool:  # noqa: D102
        return any(_policy(tid) == os.SCHED_IDLE for tid in self.found)


def _schedule(tid: int, policy: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.sched_setscheduler(tid, policy, os.sched_param(0))
        return True
    return False


def _policy(tid: int) -> int | None:
    with contextlib.suppress(ProcessLookupError):
        return os.sched_getscheduler(tid)
    return None


def yielding(name: str, about: str, pids: list[int]) -> Yield:
    """Let processes yield, as their threads are now."""
    found = {tid: policy for tid in threads(pids) if (policy := _policy(tid)) in _POLICIES}
    return Yield(name, about, {tid: policy for tid, policy in found.items() if policy is not None})


@dataclass(frozen=True)
class Link:
    """An interface whose shaper (a token bucket at its root) is widened, in our network namespace."""

    device: str
    rate: int
    """Bytes a second, as found."""
    burst: int
    limit: int
    wide: int

    @property
    def name(self) -> str:  # noqa: D102
        return f"link {self.device}"

    @property
    def about(self) -> str:  # noqa: D102
        now, wide = (rate * 8 / 1e6 for rate in (self.rate, self.wide))
        return f"widen the shaper of {self.device} from {now:g} to {wide:g} Mbit/s"

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return [steps.shape(self.device, 8 * self.rate, self._burst(self.rate), self.limit)]

    def _burst(self, rate: int) -> int:
        # A burst must last for a tick at its rate, or the bucket never fills.
        return max(self.burst, rate // 250)

    def _set(self, rate: int) -> None:
        words = ["tc", "qdisc", "change", "dev", self.device, "root", "tbf", "rate", f"{8 * rate}bit"]
        words += ["burst", str(self._burst(rate)), "limit", str(self.limit)]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            raise Gone(
                "intervention-failed",
                f"tc can no longer change the shaper of {self.device}",
                name=self.device,
            )

    def remove(self) -> None:  # noqa: D102
        self._set(self.wide)

    def give_back(self) -> None:  # noqa: D102
        with contextlib.suppress(Gone):
            self._set(self.rate)

    def arrived(self) -> bool:  # noqa: D102
        return any(link.device == self.device and link.rate == self.wide for link in links())


WIDER = 20
"""Times its rate: a link that is widened so is no limit any more."""


def links() -> list[Link]:
    """Interfaces with a token bucket at their root, as ``tc`` tells them; none where it cannot be asked."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        told = subprocess.run(["tc", "-j", "qdisc", "show"], capture_output=True, check=False).stdout
        found = []
        for one in json.loads(told):
            if one.get("kind") == "tbf" and one.get("root"):
                options = one["options"]
                rate, burst = int(options["rate"]), int(options["burst"])
                # tc shows the limit as the time that it stands for ("lat", us), over the burst.
                limit = int(options.get("limit", rate * options.get("lat", 0) / 1e6 + burst))
                found.append(Link(one["dev"], rate, burst, limit, WIDER * rate))
        return found
    return []


@dataclass(frozen=True)
class Freeze:
    """All processes of a cgroup at once, by the freezer: those too that come into being meanwhile."""

    group: str
    path: Path
    """``freezer.state`` (v1) or ``cgroup.freeze`` (v2)."""
    program: ClassVar[bool] = True

    @property
    def name(self) -> str:  # noqa: D102
        return f"neighbours in {self.group}"

    @property
    def about(self) -> str:  # noqa: D102
        return f"freeze the cgroup {self.group}"

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return [steps.write(self.path, self._words[1])]

    @property
    def _words(self) -> tuple[str, str]:
        return ("FROZEN", "THAWED") if self.path.name == "freezer.state" else ("1", "0")

    def remove(self) -> None:  # noqa: D102
        self._write(self._words[0])

    def give_back(self) -> None:  # noqa: D102
        with contextlib.suppress(Gone):
            self._write(self._words[1])

    def _write(self, word: str) -> None:
        try:
            self.path.write_text(word)
        except OSError:
            raise Gone(
                "no-such-file", f"the cgroup {self.group} no longer exists", path=str(self.path)
            ) from None

    def arrived(self) -> bool:  # noqa: D102
        with contextlib.suppress(OSError):
            if self.path.name == "freezer.state":
                return self.path.read_text().strip() in ("FROZEN", "FREEZING")
            return "frozen 1" in (self.path.parent / "cgroup.events").read_text()
        return False


def freezer_of(pid: int) -> tuple[str, Path] | None:
    """The freezer of a process's own cgroup (v1 first); None in the root, or where there is no freezer."""
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
    """Processes of a cgroup and of those below it: all are frozen with it."""
    found: set[int] = set()
    for place in freezer.parent.rglob("cgroup.procs"):
        with contextlib.suppress(OSError):
            found |= {int(one) for one in place.read_text().split()}
    return found
