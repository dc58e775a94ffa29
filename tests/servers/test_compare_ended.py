"""A live comparison that is ended in the middle of a run: nothing is left behind, and it goes on where it stopped."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from ending import ended_in_the_middle, finished
from measuring import Household, Study, hindmost

SERVER = 'synth?service={"kind":"deterministic","mean_us":%d}'
SHORT = ("--rate", 100, "--warmup", "0.2s", "--quantiles", "50", "--clients", 1, "--connections", 2)
OPTIONS = ("--remake", 0, "--stamps", "off", "--sentinel", "off", "--duration", "2s", "--pairs", 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_a_live_comparison_that_is_ended_leaves_nothing_and_goes_on(
    number: signal.Signals, household: Household, tmp_path: Path
) -> None:
    study, few = tmp_path / "study", tmp_path / "few.json"
    few.write_text('{"keys": 10}')
    targets = [SERVER % us for us in (100, 300)]
    words = ("compare", "--live", *targets, *SHORT, *OPTIONS, "--workload", few)
    first = ended_in_the_middle(words, number, study, household, f"hindmost compare {study}")
    assert not (study / "comparison.json").exists()

    again = hindmost("compare", study, "--quiet", "--json", study=study)
    assert again.code in (0, 4, 6), again.err
    assert len(finished(study)) == 4
    assert first <= finished(study)
    assert json.loads(again.out)["against"][0]["pairs"] == 2
    assert Study(study).half_done() == []
    household.assert_empty()
