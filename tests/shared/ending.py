"""Studies of several sides that are ended in the middle of a run."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from measuring import Household, Study, finish, start, wait_for


def ended_in_the_middle(
    words: Sequence[object], number: signal.Signals, study: Path, household: Household, hint: str
) -> set[tuple[Path, int]]:
    """End a study of several sides in its second run; nothing is left behind but its finished runs.

    Returns those, as results with the time at which each was written. The hint is the one after Ctrl-C.
    """
    room = study.parent / "room"
    room.mkdir()
    process = start(*words, "--out", study, env={**os.environ, "TMPDIR": str(room)})

    def under_way() -> bool:
        """Another side's run has begun: its folder is there, hidden."""
        return bool(finished(study)) and bool(list(study.glob("*/runs/.*/*")))

    wait_for(under_way, "a second run")
    first = finished(study)
    os.killpg(process.pid, number)
    answer = finish(process, study)
    if number == signal.SIGINT:
        answer.assert_error(130, "interrupted")
        assert f"hint: {hint}" in answer.err
        assert Study(study).half_done() == []
    else:
        assert answer.code == -number
    household.assert_empty()
    assert list(room.iterdir()) == []
    return first


def finished(study: Path) -> set[tuple[Path, int]]:
    """Results of the runs of all sides, each with the time at which it was written."""
    return {(file, file.stat().st_mtime_ns) for file in study.glob("*/runs/*/run.json")}
