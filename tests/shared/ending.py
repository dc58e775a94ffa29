"""Studies of several targets that are stopped in the middle of a run."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from measuring import ProcessTracker, Study, finish, start, wait_for


def stop_in_second_run(
    command: Sequence[object], number: signal.Signals, study: Path, process_tracker: ProcessTracker, hint: str
) -> set[tuple[Path, int]]:
    """Stop a study of several targets in its second run; only finished runs remain.

    Returns their results, each with the time at which it was written. `hint` is the hint after Ctrl-C.
    """
    temporary = study.parent / "room"
    temporary.mkdir()
    process = start(*command, "--out", study, env={**os.environ, "TMPDIR": str(temporary)})

    def is_under_way() -> bool:
        """Whether another target's run has begun; its folder is hidden."""
        return bool(finished_runs(study)) and bool(list(study.glob("*/runs/.*/*")))

    wait_for(is_under_way, "a second run")
    first = finished_runs(study)
    os.killpg(process.pid, number)
    answer = finish(process, study)
    if number == signal.SIGINT:
        answer.assert_error(130, "interrupted")
        assert f"hint: {hint}" in answer.err
        assert Study(study).hidden_files() == []
    else:
        assert answer.code == -number
    process_tracker.assert_none_left()
    assert list(temporary.iterdir()) == []
    return first


def finished_runs(study: Path) -> set[tuple[Path, int]]:
    """Results of the finished runs of all targets, each with the time at which it was written."""
    return {(file, file.stat().st_mtime_ns) for file in study.glob("*/runs/*/run.json")}
