"""From the first look to the page: watched, found to be slow, diagnosed by experiment, put right, told.

inject.py network -- python chain.py [--normal 660] [--page story.html] [options of hindmost diagnose]

A watch writes a ring while all is well; then something is done to the server. Each ten seconds `watch show`
is asked whether that is an anomaly; once it is, `diagnose --ring --correct` finds who did it, takes it away
and writes the page. The last line is a document (JSON) of how long each step took and what came of it.
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
"""So that a block has a 99th percentile."""
PATIENCE_S = 150.0
"""Until an anomaly must have been detected."""
ALARMS = 300
"""False ones a week that are put up with here: eleven minutes of baseline cannot promise one."""


def end_with_parent() -> None:
    """Have the kernel end this child when its parent ends, even by SIGKILL (``PR_SET_PDEATHSIG`` is 1)."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)


def hindmost(*words: str) -> "subprocess.CompletedProcess[str]":
    """One command, its output read."""
    return subprocess.run(["hindmost", *words], stdout=subprocess.PIPE, text=True, check=False)


def detected(ring: Path) -> dict[str, object] | None:
    """What `watch show` says of the last blocks; None while it is as before."""
    words = ["--block", f"{BLOCK_S:g}s", "--alarms", str(ALARMS), "--percentile", "99", "--json"]
    done = hindmost("watch", "show", str(ring), *words)
    change = json.loads(done.stdout)["change"] if done.stdout else {"kind": "none", "why": "nothing was told"}
    print(f"watch show: {change['kind']}: {change['why']}", file=sys.stderr, flush=True)
    return change if change["kind"] == "anomaly" else None


def main() -> int:
    """Watch, wait, have it injected, detect, diagnose and correct, tell."""
    parser = argparse.ArgumentParser()
    # The tail of what is normal is a tenth of its blocks, and fewer than six of them show none.
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
                told["detected"] = detected(ring)
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
