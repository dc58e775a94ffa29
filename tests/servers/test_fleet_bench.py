"""The fleet benchmark removes its machines, however it is ended."""

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


def list_namespaces(pid):
    """Namespaces and links of the machines that a process made (`machines` names them after its pid)."""
    bridge = f"hb{pid * 16 % 10**8}"
    commands = [["ip", "-o", "netns", "list"], ["ip", "-o", "link", "show"]]
    texts = [
        subprocess.run(command, check=True, capture_output=True, text=True).stdout for command in commands
    ]
    return [line for text in texts for line in text.splitlines() if bridge in line]


@pytest.mark.nightly
def test_a_benchmark_ended_by_timeout_leaves_no_namespaces(tmp_path):
    with machines(tmp_path, 0):
        pass  # skips where namespaces cannot be made
    bench = subprocess.Popen(
        [sys.executable, "-m", "benches.fleet", "--only", "controller"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        wait_for(lambda: len(list_namespaces(bench.pid)) >= 4, "its first machines", 30.0)
        # As timeout(1) does: once to the process, and once to its group.
        bench.send_signal(signal.SIGTERM)
        bench.send_signal(signal.SIGTERM)
        _, err = bench.communicate(timeout=60)
    finally:
        bench.kill()
    assert (bench.returncode, list_namespaces(bench.pid)) == (128 + signal.SIGTERM, []), err
