"""One CPU for server and client: the verdict gives the reason, and is never valid."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from measuring import finish, need, start


@pytest.mark.memcached
def test_on_one_cpu_the_result_says_that_server_and_client_share_it(tmp_path: Path) -> None:
    need("memcached")
    cpu = str(min(os.sched_getaffinity(0)))
    out = tmp_path / "study"
    load = ("--rate", "5k", "--runs", "2", "--duration", "0.5s", "--warmup", "0.3s", "--quantiles", "50,99")
    process = start("measure", "memcached", *load, "--out", out, "--json", before=("taskset", "-c", cpu))
    answer = finish(process, out)
    document = answer.result
    assert (answer.code, document["verdict"]) in ((4, "inconclusive"), (6, "invalid"))
    assert document["isolated"]["refused"]["code"] == "shared-cpus"
    assert document["plan"]["server_cpus"] == [int(cpu)]
    assert document["plan"]["client_cpus"] == [[int(cpu)]]
    assert document["causes"]
    for run in answer.study.runs():
        record = json.loads((run / "run.json").read_text())
        assert record["sentinel"] == [], "a sentinel would only take more of the CPU, and learn nothing"
