"""Settings of the host: every knob of ``hindmost host knobs list``, through the journal."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.knobs.journal import FOLDER, knobs, known, put_back, told
from hindmost.knobs.knob import Idle, undone
from hindmost.notes import Note
from hindmost.targets import Managed


@dataclass(frozen=True)
class HostKnob(Idle):
    """One knob of the host's files.

    Attributes
    ----------
    knob
        Its name in ``hindmost host knobs list``.
    root
        Where /proc and /sys are; a test's tree.
    """

    knob: str
    journal: Path
    sets: frozenset[str]
    root: str = "/"

    @property
    def name(self) -> str:  # noqa: D102
        return f"host {self.knob}"

    def check(self, level: str) -> None:  # noqa: D102
        told(
            lambda: _engine.check_knob(self.knob, level, str(self.journal), self.root), **self._fields(level)
        )

    def before(self, level: str) -> AbstractContextManager[None]:  # noqa: D102
        return self._set(level)

    @contextmanager
    def _set(self, level: str) -> Iterator[None]:
        journal = str(self.journal)
        with undone(self._undo):
            told(
                lambda: _engine.set_knob(self.knob, level, journal, self.root, os.getpid()),
                **self._fields(level),
            )
            yield

    def _fields(self, level: str) -> dict[str, str]:
        return {"name": self.knob, "value": level}

    def _undo(self) -> None:
        call = told(lambda: _engine.undo_knob(self.knob, str(self.journal), os.getpid(), self.root))
        put_back(json.loads(call))


def make(what: Mapping[str, Any], target: Managed, journal: Path, root: str = "/") -> HostKnob:
    """The knob ``knob = "NAME"``; the files that it shares with others are in `sets`."""
    every = knobs(journal, root)
    knob = known(what["knob"], list(every))
    files = set(every[knob]["files"])
    meets = {name for name, other in every.items() if files & set(other["files"])} | {knob}
    return HostKnob(knob, journal, frozenset(f"host:{name}" for name in meets), root)


def missing() -> Note | None:
    """Return why no setting of the host can be changed here."""
    settable = [knob for knob in knobs(FOLDER).values() if knob["missing"] is None]
    return None if settable else Note("needs-root", "only root may change settings of this host")
