"""From detection to the page: watch a server, detect an anomaly, diagnose and correct it, report.

inject.py network -- python chain.py [--normal 660] [--page story.html] [options of hindmost diagnose]

A watch writes a ring while the server is healthy; then an anomaly is injected. Every ten seconds `watch show`
checks for an anomaly. Once there is one, `diagnose --ring --correct` finds its cause, removes it and writes
the page. The last line is a JSON document with the duration and the result of each step.
"""

import argparse
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK_S = 10.0
PROBE = "100/s"
"""Rate of the probe, so that a block has a 99th percentile."""
PATIENCE_S = 150.0
"""Time limit of the detection in seconds."""
ALARMS = 300
"""Accepted false alarms per week: eleven minutes of baseline cannot guarantee one."""


def end_with_parent() -> None:
    """Make the kernel end this child when its parent ends, even by SIGKILL (``PR_SET_PDEATHSIG`` is 1)."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)


def hindmost(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run one command and read its output."""
    return subprocess.run(["hindmost", *words], stdout=subprocess.PIPE, text=True, check=False)


def detect_change(ring: Path) -> dict[str, object] | None:
    """Return what `watch show` reports about the last blocks; None if there is no change."""
    words = ["--block", f"{BLOCK_S:g}s", "--alarms", str(ALARMS), "--percentile", "99", "--json"]
    done = hindmost("watch", "show", str(ring), *words)
    change = json.loads(done.stdout)["change"] if done.stdout else {"kind": "none", "why": "nothing was told"}
    print(f"watch show: {change['kind']}: {change['why']}", file=sys.stderr, flush=True)
    return change if change["kind"] == "anomaly" else None


def main() -> int:
    """Watch, wait, inject, detect, diagnose and correct, report."""
    parser = argparse.ArgumentParser()
    # The tail of the baseline is a tenth of its blocks; fewer than six blocks in the tail show nothing.
    parser.add_argument("--normal", type=float, default=660.0)
    parser.add_argument("--page", type=Path, default=Path("story.html"))
    asked, more = parser.parse_known_args()
    address, policy = os.environ["ADDRESS"], os.environ["POLICY"]
    link = socket.socket(fileno=int(os.environ["GO"]))
    told: dict[str, object] = {"detected": None, "diagnosis": None}
    with tempfile.TemporaryDirectory() as name:
        ring = Path(name) / "server.ring"
        watching = subprocess.Popen(
            ["hindmost", "watch", "start", address, "--probe", PROBE, "--ring", str(ring), "--size", "4"],
            preexec_fn=end_with_parent,
        )
        try:
            time.sleep(asked.normal)
            link.sendall(b"go\n")
            link.recv(10)
            begun = time.monotonic()
            while told["detected"] is None and time.monotonic() < begun + PATIENCE_S:
                time.sleep(BLOCK_S)
                told["detected"] = detect_change(ring)
            told["detection_s"] = time.monotonic() - begun
            if told["detected"] is not None:
                words = ["--ring", str(ring), "--policy", policy, "--correct", "--page", str(asked.page)]
                begun = time.monotonic()
                done = hindmost("diagnose", address, *words, "--json", *more)
                told["diagnosis"] = json.loads(done.stdout) if done.stdout else None
                told["diagnosis_s"] = time.monotonic() - begun
        finally:
            watching.terminate()
            watching.wait()
    print(json.dumps(told), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
