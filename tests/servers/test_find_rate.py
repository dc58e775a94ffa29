"""`hindmost measure --find-rate` from end to end: a search whose end is certain, interrupted in its middle.

That a rate is found where theory has it is settled by ``test_crossing.py`` beside this folder, and what the steps of
a search make of whatever servers and hosts do is tried on known truths by ``tests/unit/test_search.py``.
"""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path
from typing import Any

import jsonschema
from measuring import ProcessTracker, finish, hindmost, start, wait_for

from hindmost.store.schema import schemas

SERVER = 'synth?service={"kind":"deterministic","mean_us":200}'
"""No request takes less than 200 us, so that less than 100 holds nowhere, whatever the host adds."""
LIMIT_US = 100.0
FIRST, LOWEST = 12.0, 10.0
STEP = ("--duration", "0.3s", "--warmup", "0.1s", "--runs", "5", "--quantiles", "50", "--samples", "0")
SPIN = ("--pacing", "spin")
"""A client that sleeps may have itself to blame for a request that left late: then nothing fails."""


def taken_us(step: Path) -> float:
    """The most that the kernel kept one client's thread from running, or the hypervisor took, in a run of a step."""
    taken = [0.0]
    for file in step.glob("runs/*/client-0.json"):
        told = json.loads(file.read_text())
        for thread in told["threads"]:
            span = thread["span"]
            stolen_ns = (told["steal_share"] or 0.0) * span["wall_ns"]
            # A thread that never came to the measurement has no account of it: it was kept from all of it.
            delay_ns = span["schedule"]["run_delay_ns"] if span["schedule"] else math.inf
            taken.append((delay_ns + stolen_ns) / 1e3)
    return max(taken)


def check(document: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(schemas()["search"]).validate(document)


def test_an_interrupted_search_goes_on_to_its_end_and_what_holds_nowhere_exits_with_4(
    process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    out, few = tmp_path / "search", tmp_path / "few.json"
    few.write_text('{"kind": "key-value", "keys": 100}')  # storing each takes 200 us
    words = ("--find-rate", f"p50<{LIMIT_US:g}us", "--rate", f"{FIRST:g}", "--workload", few, "--out", out)
    process = start("measure", SERVER, *words, *STEP, *SPIN)
    wait_for((out / "search.json").exists, "a finished step")
    process.send_signal(signal.SIGINT)
    stopped = finish(process, out)
    process_tracker.assert_none_left()
    stopped.assert_error(130, "interrupted")
    assert f"hindmost measure --resume {out}" in stopped.err
    half = json.loads(hindmost("study", "report", out, "--json").out)
    check(half)
    assert half["steps"]
    assert not half["finished"]
    kept = {path: path.stat().st_mtime_ns for path in out.glob("steps/*/runs/*/run.json")}
    assert kept
    hindmost("measure", "--resume", out, "--require", "p50<1s", "--json").assert_error(
        2, "conflicting-options"
    )

    answer = hindmost("measure", "--resume", out, "--json", study=out)
    assert answer.code == 4, answer.err
    found = answer.result
    check(found)
    assert found["finished"]
    assert found["steps"][: len(half["steps"])] == half["steps"]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "no run is made twice"
    assert found == json.loads((out / "search.json").read_text())
    assert found["rate_per_s"] is None
    tried = [step["rate_per_s"] for step in found["steps"]]
    assert tried[0] == FIRST
    outcomes = {step["outcome"] for step in found["steps"]}
    assert outcomes <= {"fails", "spoiled"}
    assert min(tried) >= LOWEST
    assert tried[-1] < 0.95 * FIRST or "spoiled" in outcomes, "it goes down to the lowest rate"
    for step in found["steps"]:
        if step["outcome"] == "spoiled":
            assert taken_us(out / step["study"]) > LIMIT_US, f"the kernel knows of no disturbance: {step}"

    again = hindmost("study", "report", out)
    assert again.code == 0
    assert " ".join(again.out.split()).startswith(found["headline"][:40])
    assert json.loads(hindmost("study", "report", out, "--json").out)["steps"] == found["steps"]
    page = (out / "report.html").read_text()
    assert all(f"({step['study']})" in page for step in found["steps"])
    first = found["steps"][0]["study"]
    step = json.loads(hindmost("study", "report", out / first, "--json").out)
    assert step["schema"] == "hindmost.measure/2"
    assert (out / first / "report.html").is_file()
