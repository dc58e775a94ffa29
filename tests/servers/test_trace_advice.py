"""The trial that a trace advises works as printed."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from measuring import finish, hindmost, need, need_two_cpus, start
from neighbours import run_disturber
from plain_memcached import plain_memcached

from hindmost import _engine

FAULT = _engine.trace_fault()
pytestmark = [
    pytest.mark.memcached,
    pytest.mark.nightly,
    pytest.mark.skipif(FAULT is not None, reason=f"requests cannot be traced here: {FAULT and FAULT[1]}"),
]


def test_the_printed_command_tries_the_advice_against_a_competing_process(tmp_path: Path) -> None:
    need("memcached")
    server, client = need_two_cpus()
    with plain_memcached() as (address, process), run_disturber(int(server), tmp_path):
        for thread in Path(f"/proc/{process.pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {int(server)})
        load = start(
            *("measure", address, "--rate", "2k", "--client-cpus", client, "--runs", "1"),
            *("--duration", "20s", "--warmup", "0.2s", "--quantiles", "50", "--stamps", "off", "--quiet"),
            *("--out", tmp_path / "load"),
        )
        try:
            trace = hindmost("trace", address, "--duration", "3s", "--who", "--json")
        finally:
            load.kill()
            finish(load, tmp_path)
        trials = [advice["trial"] for advice in trace.result["advice"] if advice.get("trial")]
        (line,) = {trial for trial in trials if "schedule = true" in trial}
        command = shlex.split(line)
        assert command[:4] == ["hindmost", "compare", "memcached", "--rate"]
        study = tmp_path / "study"
        short = (
            "--pairs",
            "6",
            "--duration",
            "0.3s",
            "--warmup",
            "0.2s",
            "--quantiles",
            "50",
            "--stamps",
            "off",
        )
        cpus = ("--server-cpus", server, "--client-cpus", client, "--by", "mean")
        answer = hindmost(*command[1:], *short, *cpus, "--out", study, "--json", "--quiet", study=study)
    assert answer.code in (0, 4), answer.err
    document = answer.result
    levels = command[command.index("--set") + 1].rpartition(" = ")[2].split(",")
    assert [level["level"] for level in document["levels"]] == levels
    assert all(len(level["values_us"]["mean"]) >= 6 or document["aside"] for level in document["levels"])
