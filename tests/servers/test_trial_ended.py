"""A trial of a setting that is ended while the setting is changed: the host is as it was, and the trial goes on."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from measuring import Household, Study, finish, hindmost, start, wait_for

SERVER = 'synth?service={"kind":"deterministic","mean_us":20}'
SHORT = ("--rate", "2k", "--rounds", 6, "--warmup", "0.1s", "--duration", "0.2s", "--quantiles", "50")
OPTIONS = ("--clients", 1, "--connections", 2, "--by", "mean", "--stamps", "off", "--sentinel", "off")
SETTING = Path("/proc/sys/vm/compaction_proactiveness")
"""What it is set to matters to no test."""


def now() -> str:
    return SETTING.read_text().strip()


@pytest.mark.skipif(not os.access(SETTING, os.W_OK), reason="settings of this host cannot be changed here")
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, id="Ctrl-C", marks=pytest.mark.nightly),
        pytest.param(signal.SIGKILL, id="kill -9"),
    ],
)
def test_a_trial_that_is_ended_leaves_the_setting_as_it_was_and_goes_on(
    number: signal.Signals, household: Household, tmp_path: Path
) -> None:
    study, few, found = tmp_path / "study", tmp_path / "few.json", now()
    few.write_text('{"keys": 10}')
    other = str(int(found) + 1)
    words = ("trial", SERVER, *SHORT, *OPTIONS, "--workload", few, "--out", study)
    process = start(*words, "--knob", 'knob = "compaction"', "--levels", f"{found},{other}")
    try:
        wait_for(lambda: now() == other, "a run with the setting changed")
        os.killpg(process.pid, number)
        answer = finish(process, study)
        household.assert_empty()
        if number == signal.SIGKILL:
            assert answer.code == -number
            assert hindmost("knobs", "restore").code == 0
            assert now() == found
            return
        answer.assert_one_clear_error(130, str(study))
        assert f"hint: hindmost trial --resume {study}" in answer.err
        assert now() == found
        again = hindmost("trial", "--resume", study, "--quiet", "--json", study=study)
    finally:
        SETTING.write_text(found)
    assert again.code in (0, 4), again.err
    assert [one["level"] for one in json.loads(again.out)["levels"]] == [found, other]
    assert Study(study).half_done() == []
    assert now() == found
    household.assert_empty()
