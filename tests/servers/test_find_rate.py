"""`hindmost measure --find-rate` from end to end: a search whose end is certain, interrupted in its middle.

That a rate is found where theory has it is settled by ``tests/precision/test_crossing.py``, and what the steps of a
search make of whatever servers and hosts do is tried on known truths by ``tests/unit/test_search.py``.
"""

from __future__ import annotations

import json
import math
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from measuring import Answer, Household, finish, hindmost, start, wait_for

from hindmost.store.schema import schemas

SERVER = 'synth?service={"kind":"deterministic","mean_us":200}'
"""No request takes less than 200 us, so that less than 100 holds nowhere, whatever the host adds."""
LIMIT_US = 100.0
FIRST, LOWEST = 12.0, 10.0
STEP = ("--duration", "0.3s", "--warmup", "0.1s", "--runs", "5", "--quantiles", "50", "--samples", "0")
SPIN = ("--pacing", "spin")
"""A client that sleeps may have itself to blame for a request that left late: then nothing fails."""


@dataclass(frozen=True)
class Interrupted:
    """A search that was stopped after its first step and resumed; what stood in its folder between the two."""

    out: Path
    stopped: Answer
    half: dict[str, Any]
    kept: dict[Path, int]
    refused: Answer
    resumed: Answer


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Interrupted:
    folder = tmp_path_factory.mktemp("search")
    out, few = folder / "search", folder / "few.json"
    few.write_text('{"kind": "key-value", "keys": 100}')  # storing each takes 200 us
    words = ("--find-rate", f"p50<{LIMIT_US:g}us", "--rate", f"{FIRST:g}", "--workload", few, "--out", out)
    household = Household()
    try:
        process = start("measure", SERVER, *words, *STEP, *SPIN)
        wait_for((out / "search.json").exists, "a finished step")
        process.send_signal(signal.SIGINT)
        stopped = finish(process, out)
        household.assert_empty()
    finally:
        household.close()
    half = json.loads(hindmost("report", out, "--json").out)
    kept = {path: path.stat().st_mtime_ns for path in out.glob("steps/*/runs/*/run.json")}
    refused = hindmost("measure", "--resume", out, "--require", "p50<1s")
    return Interrupted(
        out, stopped, half, kept, refused, hindmost("measure", "--resume", out, "--json", study=out)
    )


def taken_us(step: Path) -> float:
    """The most that the kernel kept one client's thread from running, or the hypervisor took, in a run of a step."""
    taken = [0.0]
    for file in step.glob("runs/*/instance-0.json"):
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


def test_an_interrupted_search_goes_on_where_it_stopped(interrupted: Interrupted) -> None:
    out, half, found = interrupted.out, interrupted.half, interrupted.resumed.result
    interrupted.stopped.assert_one_clear_error(
        130, "finished run(s) are kept", f"hindmost measure --resume {out}"
    )
    check(half)
    assert half["steps"]
    assert not half["finished"]
    assert interrupted.refused.code == 2
    assert "--require does not go with --find-rate" in interrupted.refused.err
    assert found["finished"]
    assert found["steps"][: len(half["steps"])] == half["steps"]
    assert interrupted.kept
    now = {path: path.stat().st_mtime_ns for path in interrupted.kept}
    assert now == interrupted.kept, "no run is made twice"


def test_what_holds_nowhere_exits_with_4_and_is_shown_again(interrupted: Interrupted) -> None:
    out, answer = interrupted.out, interrupted.resumed
    assert answer.code == 4, answer.err
    found = answer.result
    check(found)
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
    assert "at no rate" in found["headline"] or "the host disturbed every step" in found["headline"]
    again = hindmost("report", out)
    assert again.code == 0
    assert " ".join(again.out.split()).startswith(found["headline"][:40])
    assert json.loads(hindmost("report", out, "--json").out)["steps"] == found["steps"]
    page = (out / "report.html").read_text()
    assert "Latency against rate" in page
    assert all(f"({step['study']})" in page for step in found["steps"])
    first = found["steps"][0]["study"]
    step = json.loads(hindmost("report", out / first, "--json").out)
    assert step["schema"] == "hindmost.measure/1"
    assert (out / first / "report.html").is_file()
