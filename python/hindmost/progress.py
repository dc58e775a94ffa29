"""Long steps: what each does and how far it is. The command line shows them; elsewhere they are silent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Step:
    """A step that runs: ``done`` of ``of`` parts; an ``of`` of 0 is not known."""

    what: str
    of: int = 0
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        far = f": {self.done:,} of {self.of:,}" if self.of else ""
        return f"{self.what}{far}, {time.monotonic() - self.began:.0f} s"


Show = Callable[[Step, threading.Event], None]
"""Shows a step, from a thread of its own, until the event is set."""
_show: Show | None = None
_within = threading.local()


def show_steps(show: Show | None) -> None:
    """Show every step that begins from now on; None for none."""
    global _show
    _show = show


@contextmanager
def step(what: str, of: int = 0) -> Iterator[Step]:
    """Run a step; one within another is not shown next to it."""
    one, show = Step(what, of), _show
    if show is None or getattr(_within, "step", False):
        yield one
        return
    ended = threading.Event()
    thread = threading.Thread(target=show, args=(one, ended), daemon=True)
    _within.step = True
    thread.start()
    try:
        yield one
    finally:
        _within.step = False
        ended.set()
        thread.join()


def counted(what: str, parts: Sequence[T]) -> Iterator[T]:
    """Iterate over the parts of a step."""
    with step(what, len(parts)) as one:
        for one.done, part in enumerate(parts):
            yield part
