"""A live comparison that is ended in the middle of a run: nothing is left behind, and it goes on where it stopped."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from measuring import Household, Study, finish, hindmost, start, wait_for

SERVER = 'synth?service={"kind":"deterministic","mean_us":%d}'
SHORT = ("--rate", 100, "--warmup", "0.2s", "--quantiles", "50", "--clients", 1, "--connections", 2)
OPTIONS = ("--remake", 0, "--stamps", "off", "--sentinel", "off", "--duration", "2s", "--pairs", 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_a_live_comparison_that_is_ended_leaves_nothing_and_goes_on(
    number: signal.Signals, household: Household, tmp_path: Path
) -> None:
    study, room, few = tmp_path / "study", tmp_path / "room", tmp_path / "few.json"
    room.mkdir()
    few.write_text('{"keys": 10}')
    targets = [SERVER % us for us in (100, 300)]
    words = ("compare", "--live", *targets, *SHORT, *OPTIONS, "--workload", few, "--out", study)
    process = start(*words, env={**os.environ, "TMPDIR": str(room)})

    def under_way() -> bool:
        """A run of the second side to come has begun: its folder is there, hidden."""
        return bool(list(study.glob("*/runs/*/run.json"))) and bool(list(study.glob("*/runs/.*/*")))

    wait_for(under_way, "a second run")
    first = {file: file.stat().st_mtime_ns for file in study.glob("*/runs/*/run.json")}
    os.killpg(process.pid, number)
    answer = finish(process, study)
    if number == signal.SIGINT:
        answer.assert_one_clear_error(130, f"{len(first)} finished run(s) are kept in {study}")
        assert f"hint: hindmost compare {study}" in answer.err
        assert Study(study).half_done() == []
    else:
        assert answer.code == -signal.SIGKILL
    household.assert_empty()
    assert list(room.iterdir()) == []
    assert not (study / "comparison.json").exists()

    again = hindmost("compare", study, "--quiet", "--json", study=study)
    assert again.code in (0, 4, 6), again.err
    assert len(list(study.glob("*/runs/*/run.json"))) == 4
    assert {file: file.stat().st_mtime_ns for file in first} == first
    assert json.loads(again.out)["against"][0]["pairs"] == 2
    assert Study(study).half_done() == []
    household.assert_empty()
