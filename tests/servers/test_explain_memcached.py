"""An explanation of a real memcached: every step within a small budget, and more budget goes on with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from measuring import Study, hindmost, need

pytestmark = pytest.mark.memcached


def test_a_small_budget_takes_every_step_and_a_greater_one_goes_on(tmp_path: Path) -> None:
    need("memcached")
    study = tmp_path / "study"
    load = ("--rate", "1k", "--duration", "0.2s", "--warmup", "0.1s", "--stamps", "off", "--sentinel", "off")
    words = (
        "explain",
        "memcached?memory_mib=64",
        *load,
        "--budget",
        "5s",
        "--out",
        study,
        "--json",
        "--quiet",
    )
    first = hindmost(*words, study=study)
    assert first.code in (0, 4), first.err
    found = first.result
    assert (found["schema"], found["by"], len(found["answer"])) == ("hindmost.explain/1", "p99", 5)
    traced = "not-traced" not in [one["code"] for one in found["cannot"]]
    assert traced == bool(found["parts"])
    if traced:
        assert sum(one["of_variance"] for one in found["parts"]) == pytest.approx(1.0, abs=0.02)
    assert found["trials"], "there is always something to try of a server that can be started again"
    assert (study / "report.html").stat().st_size > 5_000
    made = sorted(study.glob("**/runs/[0-9]*/run.json"))

    more = hindmost("explain", study, "--budget", "7s", "--json", "--quiet", study=study)
    assert more.code in (0, 4), more.err
    assert set(made) <= set(study.glob("**/runs/[0-9]*/run.json"))
    assert [one["label"] for one in more.result["trials"]] == [one["label"] for one in found["trials"]]
    again = hindmost("study", "report", study, "--json", study=study)
    assert {**again.result, "created": ""} == {**more.result, "created": ""}
    assert Study(study).hidden_files() == []
    refused = hindmost("explain", study, "--rate", "5k", "--json", study=study)
    refused.assert_error(2, "fixed-option", option="--rate")
