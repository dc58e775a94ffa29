"""One processor for server and client: a verdict with the reason, and no number that looks sure."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from measuring import finish, need, start


@pytest.mark.memcached
def test_on_one_processor_the_answer_says_that_both_share_it(tmp_path: Path) -> None:
    need("memcached")
    cpu = str(min(os.sched_getaffinity(0)))
    out = tmp_path / "study"
    words = ("--rate", "5k", "--runs", "2", "--duration", "0.5s", "--warmup", "0.3s", "--quantiles", "50,99")
    process = start("measure", "memcached", *words, "--out", out, "--json", before=("taskset", "-c", cpu))
    answer = finish(process, out)
    document = answer.result
    assert (answer.code, document["verdict"]) in ((4, "inconclusive"), (6, "invalid"))
    assert document["isolated"]["refused"]["code"] == "shared-cpus"
    assert document["plan"]["server_cpus"] == [int(cpu)]
    assert document["plan"]["client_cpus"] == [[int(cpu)]]
    assert document["causes"]
    for run in answer.study.runs():
        record = json.loads((run / "run.json").read_text())
        assert record["sentinel"] == [], "one more to wait for, which could tell nothing"
