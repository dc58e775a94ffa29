"""Windows: a program beside a ruler for a moment, with the placement looked at before and after."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from hindmost import _engine
from hindmost.studies.colocation.rulers import asked
from hindmost.studies.colocation.runs import Runs
from hindmost.studies.colocation.served import Asked, Served
from hindmost.studies.colocation.subject import Subject

if TYPE_CHECKING:
    from hindmost.store.colocation import Placement

_MS = 1_000_000
PERIOD_NS = 10_000
"""Of a duty cycle: longer ones show as on and off in a tail."""
Lost = Literal["units", "processor"]
LEAST_CPU = 0.3
"""Of a window, that whoever is measured must have had a processor for."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One window.

    Attributes
    ----------
    ruler : str
        Beside what; ``alone`` for nothing.
    with_program : bool
        Whether the program ran.
    program, of_ruler : float or None
        Units a CPU second of each; None where it did not run or had too little of a processor.
    placement : tuple of str
        Before and after.
    real_time : bool
        Whether the ruler went before all that is not real-time.
    lost : str, optional
        Why there is no figure of the program, though it ran: it told no ``units``, or had too little of its
        ``processor``.
    asked : Asked, optional
        What the probe saw of a server in it.
    """

    ruler: str
    with_program: bool
    program: float | None
    of_ruler: float | None
    placement: tuple[str, str]
    real_time: bool
    lost: Lost | None = None
    asked: Asked | None = None

    @property
    def kept(self) -> bool:
        """Whether the processors stood alike before and after: the host may move them at any time."""
        return self.placement[0] == self.placement[1]


def placement_of(windows: Sequence[Seen]) -> tuple[Placement, list[str]]:
    """How the processors stood in most windows that no move touched, and a note where it varied."""
    seen = [one.placement[0] for one in windows if one.kept]
    if not seen:
        return "unknown", []
    mixed = "the host moved the processors between windows: figures are a mixture of placements"
    return cast("Placement", max(set(seen), key=seen.count)), [mixed] if len(set(seen)) > 1 else []


class Stand:
    """Where windows are made: a program on one processor, rulers on another."""

    def __init__(
        self,
        subject: Subject | Runs | Served,
        cpus: tuple[int, int],
        rulers: dict[str, Any],
        *,
        real_time: bool,
    ) -> None:
        self.subject = subject
        self.cpus = cpus
        self.rulers = rulers
        self.real_time = real_time
        self._made = 0
        self._before = self.look()

    def look(self) -> str:
        """How the processors stand now; the program must not run meanwhile."""
        self.subject.pause()
        return str(asked(_engine.look_at_placement, *self.cpus)["placement"])

    def window(self, ruler: str, length_ms: float, *, with_program: bool = True) -> Seen:
        """Make one."""
        got: list[dict[str, Any]] = []
        self._made += 1
        when = f"in window {self._made} ({'with nothing' if ruler == 'alone' else ruler} beside it)"
        # Counted while nothing runs: with both processors taken we would not get one.
        began, (units, used) = time.monotonic_ns(), self.subject.count(f"before window {self._made}")
        if with_program:
            self.subject.resume()
        start = _engine.monotonic_ns() + _MS
        last = self.subject.last if with_program else time.sleep
        if ruler == "alone":
            last(length_ms / 1000)
        else:
            over = threading.Event()
            if not (with_program and isinstance(self.subject, Runs)):
                # Nobody could end it: with program and ruler real-time we get no processor before its end.
                over.set()
            thread = threading.Thread(target=lambda: got.extend(self._works(ruler, start, length_ms, over)))
            thread.start()
            try:
                last(length_ms / 1000)
            finally:
                over.set()
                thread.join()
        if with_program:
            self.subject.pause()
        ended, (more, more_used) = time.monotonic_ns(), self.subject.count(when)
        before, self._before = self._before, self.look()
        busy = more_used - used
        lost: Lost | None = "units" if more == units else None
        # A server waits for requests; but what answers has used some of a processor.
        least = 0.0 if isinstance(self.subject, Served) else LEAST_CPU * (ended - began)
        if busy <= least:
            lost = "processor"
        of_ruler, real_time = None, False
        ruler_ns = sum(one["cpu_ns"] for one in got)
        if got and ruler_ns > LEAST_CPU * length_ms * _MS * len(got):
            of_ruler, real_time = sum(one["done"] for one in got) / ruler_ns * 1e9, got[0]["real_time"]
        if not with_program:
            return Seen(ruler, with_program, None, of_ruler, (before, self._before), real_time)
        rate = None if lost else (more - units) / busy * 1e9
        told = self.subject.asked if isinstance(self.subject, Served) and not lost else None
        return Seen(ruler, with_program, rate, of_ruler, (before, self._before), real_time, lost, told)

    def _works(
        self, ruler: str, start_ns: int, length_ms: float, over: threading.Event
    ) -> list[dict[str, Any]]:
        """One window of a ruler, and more while the program's is not over; the last straddles its end."""
        got = [self._work(ruler, start_ns, length_ms)]
        while not over.is_set():
            got.append(self._work(ruler, _engine.monotonic_ns(), length_ms))
        return got[:-1] or got

    def _work(self, ruler: str, start_ns: int, length_ms: float) -> dict[str, Any]:
        window = {
            "cpu": self.cpus[1],
            "start_ns": start_ns,
            "duration_ns": int(length_ms * _MS),
            "duty": 1.0,
            "period_ns": PERIOD_NS,
            "real_time": self.real_time,
        }
        found: dict[str, Any] = json.loads(self.rulers[ruler].run(json.dumps(window)))
        return found
