"""Windows: a program runs next to a stressor; placement and clocks are read before and after."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from msgspec import UNSET, UnsetType

from hindmost import _engine
from hindmost.commands.colocate.documents.profiles import WindowRow
from hindmost.commands.colocate.runs import Runs
from hindmost.commands.colocate.server import ProbeResult, ServerUnderLoad
from hindmost.commands.colocate.stressors import call_engine
from hindmost.commands.colocate.subject import Subject
from hindmost.core.notes import Note

if TYPE_CHECKING:
    from hindmost.commands.colocate.documents.profiles import Placement

_MS = 1_000_000
PERIOD_NS = 10_000
"""Period of a duty cycle, ns; longer periods show as on and off in a tail."""
Lost = Literal["units", "processor"]
LEAST_CPU = 0.3
"""Smallest share of a window for which the measured program must have had a CPU."""
CLOCK = 0.05
"""Largest relative change of a clock around a usable window, because work per CPU second depends on the
clock. Boost steps are 1 to 3 %."""


class CpuReading(NamedTuple):
    """The relative placement of two CPUs at one moment, and the clock of each, GHz."""

    placement: Placement
    ghz: tuple[float, float]


@dataclass(frozen=True, slots=True)
class WindowResult:
    """The result of one window.

    Attributes
    ----------
    stressor : str
        Name of the stressor; ``alone`` for none.
    with_program : bool
        Whether the program ran.
    program, of_stressor : float or None
        Units per CPU second of each; None if it did not run or had too little CPU time.
    looks : tuple of CpuReading
        Placement and clocks before and after.
    real_time : bool
        Whether the stressor had real-time priority.
    lost : str, optional
        Why there is no figure of the program although it ran: it reported no ``units``, or had too little of
        its ``processor``.
    probe_result : ProbeResult, optional
        Results of the probe, for a server.
    """

    stressor: str
    with_program: bool
    program: float | None
    of_stressor: float | None
    looks: tuple[CpuReading, CpuReading]
    real_time: bool
    lost: Lost | None = None
    probe_result: ProbeResult | None = None

    @property
    def has_moved(self) -> bool:
        """Whether the placement changed during the window; a hypervisor may move CPUs at any time."""
        return self.looks[0].placement != self.looks[1].placement

    @property
    def clock_changed(self) -> bool:
        """Whether the clock of the measured CPU changed: its frequency, or a part of its time was stolen."""
        return clock_differs(self.looks, 0 if self.with_program else 1)

    @property
    def is_usable(self) -> bool:
        """Whether the window counts."""
        return not self.has_moved and not self.clock_changed

    def row(self, round_: int, program: str | UnsetType = UNSET) -> WindowRow:
        """Return the window as a row of the document, without averaging."""
        before, after = self.looks
        return WindowRow(
            round=round_,
            stressor=self.stressor,
            with_program=self.with_program,
            program_per_s=self.program,
            stressor_per_s=self.of_stressor,
            placement=[before.placement, after.placement],
            ghz=[list(before.ghz), list(after.ghz)],
            kept=self.is_usable,
            lost=self.lost,
            real_time=self.real_time,
            program=program,
        )


def clock_differs(looks: tuple[CpuReading, CpuReading], which: int) -> bool:
    """Whether a CPU's clock differed after a window."""
    before, after = (look.ghz[which] for look in looks)
    return abs(before - after) > CLOCK * max(before, after)


def placement_of(windows: Sequence[WindowResult]) -> tuple[Placement, list[Note]]:
    """Return the placement in most windows without a move, and notes if the placement or a clock varied."""
    rounds = [one.looks[0].placement for one in windows if not one.has_moved]
    notes: list[Note] = []
    if len(set(rounds)) > 1:
        notes.append(
            Note(
                "mixed-placements",
                "the hypervisor moved the CPUs between windows, so the figures mix placements",
                {"known": sorted(set(rounds))},
            )
        )
    if slower := [one for one in windows if one.clock_changed]:
        clocks = [look.ghz[0 if one.with_program else 1] for one in slower for look in one.looks]
        notes.append(
            Note(
                "clock-changed",
                f"a CPU's clock changed during {len(slower)} of {len(windows)} windows"
                f" ({min(clocks):.2f} to {max(clocks):.2f} GHz); these windows do not count",
                {
                    "excluded": len(slower),
                    "windows": len(windows),
                    "least": min(clocks),
                    "most": max(clocks),
                    "unit": "GHz",
                },
            )
        )
    return max(set(rounds), key=rounds.count) if rounds else "unknown", notes


def rows_of(rounds: Sequence[Sequence[WindowResult]]) -> list[WindowRow]:
    """Return all windows as rows, in the order in which they were made."""
    return [one.row(number) for number, windows in enumerate(rounds, 1) for one in windows]


class WindowRunner:
    """Makes windows with a program on one CPU and stressors on another."""

    def __init__(
        self,
        subject: Subject | Runs | ServerUnderLoad,
        cpus: tuple[int, int],
        stressors: dict[str, Any],
        *,
        real_time: bool,
    ) -> None:
        self.subject = subject
        self.cpus = cpus
        self.stressors = stressors
        self.real_time = real_time
        self._made = 0
        # By their message latency alone, siblings may look like near cores.
        self._siblings = call_engine(_engine.look_at_placement, *cpus, ports=True)["placement"] == "siblings"
        self._before = self._read_placement()

    def _read_placement(self) -> CpuReading:
        """Read the placement of the CPUs and their clocks, while the program is stopped."""
        self.subject.pause()
        found = call_engine(_engine.look_at_placement, *self.cpus)
        placement = "siblings" if self._siblings and found["placement"] == "near" else found["placement"]
        return CpuReading(cast("Placement", placement), tuple(found["ghz"]))

    def window(self, stressor: str, length_ms: float, *, with_program: bool = True) -> WindowResult:
        """Make one window."""
        got: list[dict[str, Any]] = []
        self._made += 1
        when = f"in window {self._made} ({'with nothing' if stressor == 'alone' else stressor} next to it)"
        # Counters are read while nothing runs: with both CPUs busy this process might get none.
        began, (units, used) = (
            time.monotonic_ns(),
            self.subject.count(f"before window {self._made}", window=self._made),
        )
        if with_program:
            self.subject.resume()
        start = _engine.monotonic_ns() + _MS
        last = self.subject.run_window if with_program else time.sleep
        if stressor == "alone":
            last(length_ms / 1000)
        else:
            over = threading.Event()
            if not (with_program and isinstance(self.subject, Runs)):
                # With real-time program and stressor, this process gets no CPU to end the stressor early.
                over.set()
            thread = threading.Thread(
                target=lambda: got.extend(self._works(stressor, start, length_ms, over))
            )
            thread.start()
            try:
                last(length_ms / 1000)
            finally:
                over.set()
                thread.join()
        if with_program:
            self.subject.pause()
        ended, (more, more_used) = (
            time.monotonic_ns(),
            self.subject.count(when, window=self._made, beside=stressor),
        )
        before, self._before = self._before, self._read_placement()
        busy = more_used - used
        lost: Lost | None = "units" if more == units else None
        # A server waits for requests, but one that answers has used some CPU time.
        least = 0.0 if isinstance(self.subject, ServerUnderLoad) else LEAST_CPU * (ended - began)
        if busy <= least:
            lost = "processor"
        of_stressor, real_time = None, False
        stressor_ns = sum(one["cpu_ns"] for one in got)
        if got and stressor_ns > LEAST_CPU * length_ms * _MS * len(got):
            real_time = got[0]["real_time"]
            if not clock_differs((before, self._before), 1):
                of_stressor = sum(one["done"] for one in got) / stressor_ns * 1e9
        if not with_program:
            return WindowResult(stressor, with_program, None, of_stressor, (before, self._before), real_time)
        rate = None if lost else (more - units) / busy * 1e9
        probe = self.subject.probe_result if isinstance(self.subject, ServerUnderLoad) and not lost else None
        return WindowResult(
            stressor, with_program, rate, of_stressor, (before, self._before), real_time, lost, probe
        )

    def _works(
        self, stressor: str, start_ns: int, length_ms: float, over: threading.Event
    ) -> list[dict[str, Any]]:
        """Run a stressor until the program's window ends, window by window; drop the last, partial one."""
        got = [self._work(stressor, start_ns, length_ms)]
        while not over.is_set():
            got.append(self._work(stressor, _engine.monotonic_ns(), length_ms))
        return got[:-1] or got

    def _work(self, stressor: str, start_ns: int, length_ms: float) -> dict[str, Any]:
        window = {
            "cpu": self.cpus[1],
            "start_ns": start_ns,
            "duration_ns": int(length_ms * _MS),
            "duty": 1.0,
            "period_ns": PERIOD_NS,
            "real_time": self.real_time,
        }
        found: dict[str, Any] = json.loads(self.stressors[stressor].run(json.dumps(window)))
        return found
