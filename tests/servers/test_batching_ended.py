"""A search for the best batching that is ended in the middle of a run: nothing is left behind, and it goes on."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from measuring import Household, Study, finish, hindmost, start, wait_for

SERVER = 'synth?service={"kind":"deterministic","mean_us":20}'
SHORT = ("--rate", "2k", "--intervals", "1ms", "--rounds", 2, "--warmup", "0.1s", "--duration", "0.4s")
OPTIONS = ("--quantiles", "50", "--clients", 1, "--connections", 2, "--remake", 0, "--stamps", "off")


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, id="Ctrl-C", marks=pytest.mark.nightly),
        pytest.param(signal.SIGKILL, id="kill -9"),
    ],
)
def test_a_search_for_an_interval_that_is_ended_leaves_nothing_and_goes_on(
    number: signal.Signals, household: Household, tmp_path: Path
) -> None:
    study, room, few = tmp_path / "study", tmp_path / "room", tmp_path / "few.json"
    room.mkdir()
    few.write_text('{"keys": 10}')
    words = ("batching", SERVER, *SHORT, *OPTIONS, "--sentinel", "off", "--workload", few, "--out", study)
    process = start(*words, env={**os.environ, "TMPDIR": str(room)})

    def under_way() -> bool:
        """Another way's run has begun: its folder is there, hidden."""
        return bool(list(study.glob("*/runs/*/run.json"))) and bool(list(study.glob("*/runs/.*/*")))

    wait_for(under_way, "a second run")
    first = {file: file.stat().st_mtime_ns for file in study.glob("*/runs/*/run.json")}
    os.killpg(process.pid, number)
    answer = finish(process, study)
    if number == signal.SIGINT:
        answer.assert_one_clear_error(130, f"{len(first)} finished run(s) are kept in {study}")
        assert f"hint: hindmost batching --resume {study}" in answer.err
        assert Study(study).half_done() == []
    else:
        assert answer.code == -signal.SIGKILL
    household.assert_empty()
    assert list(room.iterdir()) == []
    assert not (study / "batching.json").exists()

    again = hindmost("batching", "--resume", study, "--quiet", "--json", study=study)
    assert again.code in (0, 4), again.err
    assert len(list(study.glob("*/runs/*/run.json"))) == 6, "two rounds of none, Nagle's and one interval"
    assert {file: file.stat().st_mtime_ns for file in first} == first
    found = json.loads(again.out)
    assert found["rounds"] + len(found["aside"]) == 2, "a busy host may have spoiled one"
    assert Study(study).half_done() == []
    household.assert_empty()
