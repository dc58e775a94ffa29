"""An explanation of a real memcached: every step fits a small budget, and a larger budget continues it."""

from __future__ import annotations

from pathlib import Path

import pytest
from measuring import Study, hindmost, need

pytestmark = pytest.mark.memcached


def test_a_small_budget_covers_every_step_and_a_larger_one_continues(tmp_path: Path) -> None:
    need("memcached")
    study = tmp_path / "study"
    load = ("--rate", "1k", "--duration", "0.2s", "--warmup", "0.1s", "--stamps", "off", "--sentinel", "off")
    command = ("explain", "memcached?memory_mib=64", *load, "--budget", "5s", "--out", study)
    first = hindmost(*command, "--json", "--quiet", study=study)
    assert first.code in (0, 4), first.err
    document = first.result
    assert (document["schema"], document["by"], len(document["answer"])) == ("hindmost.explain/1", "p99", 5)
    is_traced = "not-traced" not in [reason["code"] for reason in document["cannot"]]
    assert is_traced == bool(document["parts"])
    if is_traced:
        assert sum(part["of_variance"] for part in document["parts"]) == pytest.approx(1.0, abs=0.02)
    assert document["trials"], "a server that can be restarted always allows a trial"
    assert (study / "report.html").stat().st_size > 5_000
    runs = sorted(study.glob("**/runs/[0-9]*/run.json"))

    continued = hindmost("explain", study, "--budget", "7s", "--json", "--quiet", study=study)
    assert continued.code in (0, 4), continued.err
    assert set(runs) <= set(study.glob("**/runs/[0-9]*/run.json"))
    labels = [[trial["label"] for trial in result["trials"]] for result in (continued.result, document)]
    assert labels[0] == labels[1]
    report = hindmost("study", "report", study, "--json", study=study)
    assert {**report.result, "created": ""} == {**continued.result, "created": ""}
    assert Study(study).hidden_files() == []
    conflict = hindmost("explain", study, "--rate", "5k", "--json", study=study)
    conflict.assert_error(2, "fixed-option", option="--rate")
