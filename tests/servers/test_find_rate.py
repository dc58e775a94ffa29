"""`hindmost measure --find-rate` from end to end: a search with a certain result, interrupted in the middle.

``tests/accuracy/test_crossing.py`` compares the rate with theory, and ``tests/unit/test_search.py`` tests the steps of a
search on known truths.
"""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path
from typing import Any

import jsonschema
from measuring import ProcessTracker, finish, hindmost, start, wait_for

from hindmost.core.store.schema import schemas

SERVER = 'synth?service={"kind":"deterministic","mean_us":200}'
"""No request takes less than 200 us, so a limit of 100 us holds at no rate, whatever the host adds."""
LIMIT_US = 100.0
FIRST, LOWEST = 12.0, 10.0
STEP = ("--duration", "0.3s", "--warmup", "0.1s", "--runs", "5", "--quantiles", "50", "--samples", "0")
SPIN = ("--pacing", "spin")
"""A client that sleeps may cause late sends itself; then no step fails."""


def interference_us(step: Path) -> float:
    """Longest CPU time that one client thread lost to other processes and the hypervisor, over the runs of a step."""
    times = [0.0]
    for file in step.glob("runs/*/client-0.json"):
        client = json.loads(file.read_text())
        for thread in client["threads"]:
            span = thread["span"]
            stolen_ns = (client["steal_share"] or 0.0) * span["wall_ns"]
            # A thread that never reached the measurement has no account of it: it lost all of it.
            delay_ns = span["schedule"]["run_delay_ns"] if span["schedule"] else math.inf
            times.append((delay_ns + stolen_ns) / 1e3)
    return max(times)


def validate(document: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(schemas()["search"]).validate(document)


def test_an_interrupted_search_resumes_and_a_limit_that_holds_nowhere_exits_with_4(
    process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    out, few = tmp_path / "search", tmp_path / "few.json"
    few.write_text('{"kind": "key-value", "keys": 100}')  # storing each takes 200 us
    options = ("--find-rate", f"p50<{LIMIT_US:g}us", "--rate", f"{FIRST:g}", "--workload", few, "--out", out)
    process = start("measure", SERVER, *options, *STEP, *SPIN)
    wait_for((out / "search.json").exists, "a finished step")
    process.send_signal(signal.SIGINT)
    stopped = finish(process, out)
    process_tracker.assert_none_left()
    stopped.assert_error(130, "interrupted")
    assert f"hindmost measure --resume {out}" in stopped.err
    half = json.loads(hindmost("study", "report", out, "--json").out)
    validate(half)
    assert half["steps"]
    assert not half["finished"]
    runs = {path: path.stat().st_mtime_ns for path in out.glob("steps/*/runs/*/run.json")}
    assert runs
    hindmost("measure", "--resume", out, "--require", "p50<1s", "--json").assert_error(
        2, "conflicting-options"
    )

    answer = hindmost("measure", "--resume", out, "--json", study=out)
    assert answer.code == 4, answer.err
    document = answer.result
    validate(document)
    assert document["finished"]
    assert document["steps"][: len(half["steps"])] == half["steps"]
    assert {path: path.stat().st_mtime_ns for path in runs} == runs, "finished runs are not repeated"
    assert document == json.loads((out / "search.json").read_text())
    assert document["rate_per_s"] is None
    rates = [step["rate_per_s"] for step in document["steps"]]
    assert rates[0] == FIRST
    outcomes = {step["outcome"] for step in document["steps"]}
    assert outcomes <= {"fails", "spoiled"}
    assert min(rates) >= LOWEST
    assert rates[-1] < 0.95 * FIRST or "spoiled" in outcomes, "the search goes down to the lowest rate"
    for step in document["steps"]:
        if step["outcome"] == "spoiled":
            lost_us = interference_us(out / step["study"])
            assert lost_us > LIMIT_US, f"the kernel reports no interference: {step}"

    report = hindmost("study", "report", out)
    assert report.code == 0
    assert document["headline"][:40] in " ".join(report.out.split())
    assert json.loads(hindmost("study", "report", out, "--json").out)["steps"] == document["steps"]
    page = (out / "report.html").read_text()
    assert all(f"({step['study']})" in page for step in document["steps"])
    first = document["steps"][0]["study"]
    step = json.loads(hindmost("study", "report", out / first, "--json").out)
    assert step["schema"] == "hindmost.measure/2"
    assert (out / first / "report.html").is_file()
