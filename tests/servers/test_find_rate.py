"""`hindmost measure --find-rate` from end to end, against a server whose capacity is known."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from measuring import Answer, Household, finish, hindmost, need_two_processors, start, wait_for

from hindmost.store.documents import schemas

SYNTH = 'synth?service={"kind":"deterministic","mean_us":200}&idle=spin'
"""5,000 requests a second and no more."""
STEP = ("--duration", "0.7s", "--warmup", "0.3s", "--runs", "3..5", "--quantiles", "50", "--samples", "0")
QUICK = ("--duration", "0.3s", "--warmup", "0.1s", "--runs", "3", "--quantiles", "50", "--samples", "0")


def words(objective: str, out: Path, rate: str, step: tuple[str, ...]) -> tuple[object, ...]:
    """A search; few keys, because storing each takes 200 us."""
    few = out.with_name("few.json")
    few.write_text('{"kind": "key-value", "keys": 100}')
    return (
        "measure",
        SYNTH,
        "--find-rate",
        objective,
        "--rate",
        rate,
        "--workload",
        few,
        "--out",
        out,
        *step,
    )


def search(objective: str, out: Path, rate: str = "6k", step: tuple[str, ...] = STEP) -> Answer:
    """A search to its end, as JSON."""
    return finish(start(*words(objective, out, rate, step), "--json"), out, 170.0)


def check(document: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(schemas()["search"]).validate(document)


@pytest.mark.nightly
def test_the_rate_found_lies_below_the_capacity_and_near_it(tmp_path):
    need_two_processors()
    answer = search("p99<1500us", tmp_path / "search")
    assert answer.code in (0, 4), answer.err
    found = answer.result
    check(found)
    assert found["finished"]
    assert found == json.loads((tmp_path / "search" / "search.json").read_text())
    assert found["steps"][0]["outcome"] in ("unmet", "fails"), "beyond its capacity nothing holds"
    for step in found["steps"]:
        assert step["outcome"] != "holds" or step["rate_per_s"] < 5_000.0, step
    rate = found["rate_per_s"]
    # M/D/1 with 200 us: p99 is 1.1 ms at 3,000/s and 1.5 ms at 3,500/s.
    if rate is None or rate < 3_000.0:
        spoiled = [step for step in found["steps"] if step["outcome"] != "holds"]
        pytest.skip(f"inconclusive, the host is too noisy: {spoiled[-1]['why']}")
    assert rate <= 4_900.0
    assert answer.code == 0


def test_what_holds_nowhere_exits_with_4_and_is_shown_again(tmp_path):
    out = tmp_path / "search"
    answer = search("p50<100us", out, rate="20", step=QUICK)  # service alone takes 200 us
    assert answer.code == 4, answer.err
    found = answer.result
    check(found)
    assert found["rate_per_s"] is None
    assert [step["rate_per_s"] for step in found["steps"]] == [20.0, 10.0]
    assert "at no rate" in found["headline"]
    again = hindmost("report", out)
    assert again.code == 0
    assert " ".join(again.out.split()).startswith(found["headline"][:40])
    assert json.loads(hindmost("report", out, "--json").out)["steps"] == found["steps"]
    first = found["steps"][0]["study"]
    step = json.loads(hindmost("report", out / first, "--json").out)
    assert step["schema"] == "hindmost.measure/1"
    assert (out / first / "report.html").is_file()


def test_an_interrupted_search_goes_on_where_it_stopped(tmp_path):
    out = tmp_path / "search"
    household = Household()
    try:
        process = start(*words("p50<100us", out, "20", QUICK))
        wait_for((out / "search.json").exists, "a finished step", 60.0)
        process.send_signal(signal.SIGINT)
        stopped = finish(process, out)
        household.assert_empty()
    finally:
        household.close()
    stopped.assert_one_clear_error(130, "finished step(s) are kept", f"hindmost measure --resume {out}")
    kept = {path: path.stat().st_mtime_ns for path in out.glob("steps/*/runs/*/run.json")}
    assert kept
    half = json.loads(hindmost("report", out, "--json").out)
    check(half)
    assert not half["finished"]
    refused = hindmost("measure", "--resume", out, "--require", "p50<1s")
    assert refused.code == 2
    assert "--require does not go with --find-rate" in refused.err
    answer = hindmost("measure", "--resume", out, "--json")
    assert answer.code == 4, answer.err
    assert answer.result["finished"]
    assert answer.result["steps"][: len(half["steps"])] == half["steps"]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "no run is made twice"
