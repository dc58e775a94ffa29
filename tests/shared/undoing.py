"""Undo a change as the journal does after a process was killed."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Protocol

from hindmost import _engine
from hindmost.core.knobs.steps import Step


class Undoable(Protocol):
    @property
    def undo(self) -> list[Step]: ...


def undo(change: Undoable) -> None:
    """Run the change's undo steps through a separate journal."""
    with tempfile.TemporaryDirectory() as journal:
        _engine.promise_steps("change", json.dumps(change.undo), "", "", journal, os.getpid())
        (done,) = json.loads(_engine.undo_knob("change", journal, os.getpid()))
    assert done["failure"] is None, done
