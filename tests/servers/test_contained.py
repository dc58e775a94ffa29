"""In a container without real-time priority and with unreadable host counters."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from measuring import VERDICTS, finish, need, need_two_cpus, start

BLIND = """
mount --make-rprivate / && mount --bind /dev/null /proc/stat
exec setpriv --bounding-set -sys_nice,-sys_admin,-perfmon,-bpf,-sys_resource --inh-caps -sys_nice,-sys_admin "$@"
"""
"""Without /proc/stat steal time is unknown; without `CAP_SYS_NICE` the sentinel has no real-time priority."""


@pytest.mark.memcached
def test_what_a_container_hides_is_unknown_and_not_zero_and_the_reason_is_given(tmp_path: Path) -> None:
    need("memcached")
    need_two_cpus()
    container = ("unshare", "--mount", "bash", "-c", BLIND, "contained")
    trial = subprocess.run([*container, "true"], capture_output=True, text=True, check=False)
    if trial.returncode != 0:
        pytest.skip(f"no container can be made here: {trial.stderr[-200:]}")
    out = tmp_path / "study"
    load = ("--rate", "2k", "--runs", "1", "--duration", "0.5s", "--warmup", "0.3s", "--remake", "0")
    answer = finish(start("measure", "memcached", *load, "--json", "--out", out, before=container), out)
    document = json.loads(answer.out)
    assert answer.code == VERDICTS[document["verdict"]], answer.err
    refused = document["isolated"]["refused"]
    if refused is not None and refused["code"] == "uncertain-interference":
        assert "CAP_SYS_NICE" in refused["need"]
    for run in sorted(out.glob("runs/[0-9]*")):
        record = json.loads((run / "run.json").read_text())
        for sentinel in record["sentinel"]:
            assert sentinel["unsure_ns"] is not None, "the sentinel reports how long it waited for its CPU"
        unknown = ("server_steal_share", "server_busy_share")
        assert [record[name] for name in unknown] == [None, None], "unknown is not zero"
        assert json.loads((run / "client-0.json").read_text())["steal_share"] is None
