"""The bench of a fleet leaves no machine behind, however it is ended."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from machines import machines
from measuring import wait_for

pytest.importorskip("asyncssh", reason="hindmost[fleet] is not installed")
pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
ROOT = Path(__file__).parents[2]


def of(pid):
    """Namespaces and links of the machines that a process made (`machines`: named by its number)."""
    bridge = f"hb{pid * 16 % 10**8}"
    words = [["ip", "-o", "netns", "list"], ["ip", "-o", "link", "show"]]
    told = [subprocess.run(each, check=True, capture_output=True, text=True).stdout for each in words]
    return [line for text in told for line in text.splitlines() if bridge in line]


@pytest.mark.nightly
def test_a_bench_that_timeout_ends_leaves_no_namespaces(tmp_path):
    with machines(tmp_path, 0):
        pass  # a skip where namespaces cannot be made
    bench = subprocess.Popen(
        [sys.executable, "-m", "benches.fleet", "--only", "controller"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        wait_for(lambda: len(of(bench.pid)) >= 4, "its first machines", 30.0)
        # As timeout(1) does: to the process, and to its group.
        bench.send_signal(signal.SIGTERM)
        bench.send_signal(signal.SIGTERM)
        _, said = bench.communicate(timeout=60)
    finally:
        bench.kill()
    assert (bench.returncode, of(bench.pid)) == (128 + signal.SIGTERM, []), said
