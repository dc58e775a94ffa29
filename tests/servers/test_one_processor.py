"""One processor for server and client: a verdict with the reason and what would help, and no number that looks sure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from measuring import need

MAIN = "import sys; from hindmost.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.memcached
def test_on_one_processor_the_answer_says_that_both_share_it_and_what_would_help(tmp_path: Path) -> None:
    need("memcached")
    cpu = str(min(os.sched_getaffinity(0)))
    out = tmp_path / "study"
    words = (
        "memcached",
        "--rate",
        "5k",
        "--runs",
        "3",
        "--duration",
        "1s",
        "--warmup",
        "0.5s",
        "--out",
        str(out),
    )
    command = ("taskset", "-c", cpu, sys.executable, "-c", MAIN, "measure", *words, "--json")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    document = json.loads(done.stdout)
    assert (done.returncode, document["verdict"]) in ((4, "inconclusive"), (6, "invalid"))
    told = [f"{one['text']} {one['hint']}" for one in document["causes"]]
    both = [text for text in told if f"CPU {cpu}" in text and "a processor for each" in text]
    assert both, told
    calm = document["calm"]
    assert calm["refused"]["code"] == "shared-cpus"
    assert "a processor for each" in calm["refused"]["need"]
    for run in sorted(out.glob("runs/[0-9]*/run.json")):
        assert json.loads(run.read_text())["sentinel"] == [], "one more to wait for, which could tell nothing"
