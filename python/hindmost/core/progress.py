"""Long steps: what each does and how far it is. Only the command line shows them."""

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
    """A running step, with ``done`` of ``total`` parts done; a ``total`` of 0 is unknown."""

    what: str
    total: int = 0
    done: int = 0
    start_time: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        far = f": {self.done:,} of {self.total:,}" if self.total else ""
        return f"{self.what}{far}, {time.monotonic() - self.start_time:.0f} s"


Show = Callable[[Step, threading.Event], None]
"""Shows a step, from a separate thread, until the event is set."""
_show: Show | None = None
_thread_state = threading.local()


def show_steps(show: Show | None) -> None:
    """Show every step that begins from now on; None shows none."""
    global _show
    _show = show


@contextmanager
def step(what: str, total: int = 0) -> Iterator[Step]:
    """Run a step. A step inside another is not shown."""
    current, show = Step(what, total), _show
    if show is None or getattr(_thread_state, "step", False):
        yield current
        return
    ended = threading.Event()
    thread = threading.Thread(target=show, args=(current, ended), daemon=True)
    _thread_state.step = True
    thread.start()
    try:
        yield current
    finally:
        _thread_state.step = False
        ended.set()
        thread.join()


def iterate_parts(what: str, parts: Sequence[T]) -> Iterator[T]:
    """Iterate over the parts of a step, and count them."""
    with step(what, len(parts)) as current:
        for current.done, part in enumerate(parts):
            yield part
