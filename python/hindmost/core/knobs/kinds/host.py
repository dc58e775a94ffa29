"""Settings of the host: those of ``hindmost host knobs list``, changed through the journal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.core.knobs.journal import FOLDER, call_engine, check_name, knobs, undo_change
from hindmost.core.knobs.knob import Idle, undo_on_exit
from hindmost.core.notes import Note
from hindmost.core.targets import Managed


@dataclass(frozen=True)
class HostKnob(Idle):
    """One setting in the host's files.

    Attributes
    ----------
    knob
        Its name in ``hindmost host knobs list``.
    root
        Root of /proc and /sys; tests use another tree.
    """

    knob: str
    journal: Path
    sets: frozenset[str]
    root: str = "/"

    @property
    def name(self) -> str:  # noqa: D102
        return f"host {self.knob}"

    def check(self, level: str) -> None:  # noqa: D102
        call_engine(
            lambda: _engine.check_knob(self.knob, level, str(self.journal), self.root), **self._fields(level)
        )

    def before(self, level: str) -> AbstractContextManager[None]:  # noqa: D102
        return self._set(level)

    @contextmanager
    def _set(self, level: str) -> Iterator[None]:
        journal = str(self.journal)
        with undo_on_exit(self._undo):
            call_engine(
                lambda: _engine.set_knob(self.knob, level, journal, self.root, os.getpid()),
                **self._fields(level),
            )
            yield

    def _fields(self, level: str) -> dict[str, str]:
        return {"name": self.knob, "value": level}

    def _undo(self) -> None:
        undo_change(self.knob, self.journal, self.root)


def make(what: Mapping[str, Any], target: Managed, journal: Path, root: str = "/") -> HostKnob:
    """Make the setting ``knob = "NAME"``; `sets` includes settings that share files with it."""
    settings = knobs(journal, root)
    knob = check_name(what["knob"], list(settings))
    files = set(settings[knob].files)
    overlapping = {name for name, other in settings.items() if files & set(other.files)} | {knob}
    return HostKnob(knob, journal, frozenset(f"host:{name}" for name in overlapping), root)


def missing() -> Note | None:
    """Return why no setting of the host can be changed here."""
    settable = [knob for knob in knobs(FOLDER).values() if knob.missing is None]
    return None if settable else Note("needs-root", "only root may change settings of this host")
