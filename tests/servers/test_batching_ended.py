"""A search for the best batching that is ended in the middle of a run: nothing is left behind, and it goes on."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from ending import ended_in_the_middle, finished
from measuring import Household, Study, hindmost

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
    study, few = tmp_path / "study", tmp_path / "few.json"
    few.write_text('{"keys": 10}')
    words = ("batching", SERVER, *SHORT, *OPTIONS, "--sentinel", "off", "--workload", few)
    first = ended_in_the_middle(words, number, study, household, f"hindmost batching --resume {study}")
    assert not (study / "batching.json").exists()

    again = hindmost("batching", "--resume", study, "--quiet", "--json", study=study)
    assert again.code in (0, 4), again.err
    assert len(finished(study)) == 6, "two rounds of none, Nagle's and one interval"
    assert first <= finished(study)
    found = json.loads(again.out)
    assert found["rounds"] + len(found["aside"]) == 2, "a busy host may have spoiled one"
    assert Study(study).half_done() == []
    household.assert_empty()
