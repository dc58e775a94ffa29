"""The whole chain on a real memcached: watch, detect, diagnose by the ring, correct, tell."""

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
        not os.access("/sys/fs/cgroup/cpu/cgroup.procs", os.W_OK), reason="no cpu cgroup of v1, or not root"
    ),
]


@pytest.mark.parametrize(
    ("what", "options", "leader", "correction"),
    [
        ("network", [], "link lo", "widen the shaper of lo"),
        ("receive", [], "receive processing of lo", "where they arrive"),
    ],
    ids=["network", "receive"],
)
def test_from_the_first_look_to_the_page(tmp_path, what, options, leader, correction):
    page = tmp_path / "story.html"
    chain = [sys.executable, str(EXAMPLES / "chain.py"), "--page", str(page), *QUICK]
    inject = [sys.executable, str(EXAMPLES / "inject.py"), what, "--rate", "1000", *options, "--", *chain]
    done = subprocess.run(inject, capture_output=True, text=True, check=False)
    line = next((one for one in done.stdout.splitlines() if one.startswith("{")), None)
    assert line is not None, done.stderr[-2000:]
    told = json.loads(line)
    print(done.stderr[-3000:])
    if told["detected"] is None:
        pytest.skip(f"this host was so noisy that nothing was detected: {done.stderr[-300:]}")
    found = told["diagnosis"]
    assert found is not None, done.stderr[-2000:]
    assert found["normal_us"] < found["now_us"]
    if found["ruling"] in ("inconclusive", "void"):
        pytest.skip(f"this host was too noisy: {found['why']}")
    assert found["leader"] is not None, found["why"]
    assert found["leader"].startswith(leader)
    assert correction in found["correction"]["about"]
    html = page.read_text()
    assert found["leader"] in html
