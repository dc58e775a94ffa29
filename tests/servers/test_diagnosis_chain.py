"""The whole chain on a real memcached: watch, detect, diagnose on a replica, correct, report."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples/diagnosis"
QUICK = ["--pairs", "9", "--window", "300ms", "--settle", "100ms", "--probe", "300"]
pytestmark = [
    pytest.mark.memcached,
    pytest.mark.nightly,
    pytest.mark.timeout(1_500),
    pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed"),
    pytest.mark.skipif(
        not os.access("/sys/fs/cgroup/cpu/cgroup.procs", os.W_OK),
        reason="needs a cgroup v1 cpu controller, and root",
    ),
]


@pytest.mark.parametrize(
    ("problem", "options", "leader", "correction"),
    [
        ("network", [], "link lo", "widen the shaper of lo"),
        ("receive", [], "receive processing of lo", "where they arrive"),
    ],
    ids=["network", "receive"],
)
def test_a_problem_is_followed_from_detection_to_the_page(tmp_path, problem, options, leader, correction):
    page = tmp_path / "story.html"
    chain = [sys.executable, str(EXAMPLES / "chain.py"), "--page", str(page), *QUICK]
    inject = [sys.executable, str(EXAMPLES / "inject.py"), problem, "--rate", "1000", *options, "--", *chain]
    done = subprocess.run(inject, capture_output=True, text=True, check=False)
    line = next((line for line in done.stdout.splitlines() if line.startswith("{")), None)
    assert line is not None, done.stderr[-2000:]
    story = json.loads(line)
    print(done.stderr[-3000:])
    if story["detected"] is None:
        pytest.skip(f"this host was so noisy that nothing was detected: {done.stderr[-300:]}")
    diagnosis = story["diagnosis"]
    assert diagnosis is not None, done.stderr[-2000:]
    assert diagnosis["normal_us"] < diagnosis["now_us"]
    if diagnosis["ruling"] in ("inconclusive", "void"):
        pytest.skip(f"this host was too noisy: {diagnosis['why']}")
    assert diagnosis["leader"] is not None, diagnosis["why"]
    assert diagnosis["leader"].startswith(leader)
    assert correction in diagnosis["correction"]["about"]
    html = page.read_text()
    assert diagnosis["leader"] in html
