"""Undo a change as the journal does for whoever was killed."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Protocol

from hindmost import _engine
from hindmost.knobs.steps import Step


class Undoable(Protocol):
    @property
    def undo(self) -> list[Step]: ...


def undo(change: Undoable) -> None:
    """Take the change's steps through a journal of its own."""
    with tempfile.TemporaryDirectory() as journal:
        _engine.promise_steps("change", json.dumps(change.undo), "", "", journal, os.getpid())
        (done,) = json.loads(_engine.undo_knob("change", journal, os.getpid()))
    assert done["failure"] is None, done
