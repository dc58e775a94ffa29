"""In a container: no right to real-time priority, counters of the host that cannot be read."""

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
"""Without /proc/stat nobody knows of steal; without `CAP_SYS_NICE` the sentinel has no real-time priority."""


@pytest.mark.memcached
def test_what_a_container_hides_is_not_taken_for_nothing_and_the_reason_is_told(tmp_path: Path) -> None:
    need("memcached")
    need_two_cpus()
    within = ("unshare", "--mount", "bash", "-c", BLIND, "contained")
    tried = subprocess.run([*within, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no container can be made here: {tried.stderr[-200:]}")
    out = tmp_path / "study"
    words = ("--rate", "2k", "--runs", "1", "--duration", "0.5s", "--warmup", "0.3s", "--remake", "0")
    answer = finish(start("measure", "memcached", *words, "--json", "--out", out, before=within), out)
    document = json.loads(answer.out)
    assert answer.code == VERDICTS[document["verdict"]], answer.err
    refused = document["isolated"]["refused"]
    if refused is not None and refused["code"] == "uncertain-interference":
        assert "CAP_SYS_NICE" in refused["need"]
    for run in sorted(out.glob("runs/[0-9]*")):
        record = json.loads((run / "run.json").read_text())
        for watched in record["sentinel"]:
            assert watched["unsure_ns"] is not None, (
                "it waits for its processor like others, and says how long"
            )
        unknown = ("server_steal_share", "server_busy_share")
        assert [record[name] for name in unknown] == [None, None], "not known is not zero"
        assert json.loads((run / "client-0.json").read_text())["steal_share"] is None
