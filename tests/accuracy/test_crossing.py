"""What a server can carry, and up to which rate a limit holds, are found where they are known to lie."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import pytest
from measuring import finish, measure, need_two_processors, start
from queueing import mm1_sojourn

from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

OWN_US = 30.0
"""What a request costs the server beside its service time at most: read, write, look."""

FULL_US = 1000.0
CLOSE = 0.02

QUEUE_US = 200.0
QUEUE = f'synth?service={{"kind":"exponential","mean_us":{QUEUE_US:g}}}&idle=spin'
"""With arrivals at random an M/M/1 queue: 5,000 requests a second and no more."""
OBJECTIVES = {"p50": (0.5, 700.0), "p99": (0.99, 9_000.0)}
"""Level and limit: near 80 % and 90 % of the capacity, where a few percent of the rate move them by tens."""
STEP = ("--duration", "1s", "--warmup", "0.3s", "--quantiles", "50", "--samples", "0", "--runs", "3..6")
SEARCH_S = 500.0


def few_keys(folder: Path) -> Path:
    """A workload whose values are soon stored."""
    folder.mkdir()
    file = folder / "few.json"
    file.write_text('{"kind": "key-value", "keys": 100}')
    return file


def saturated(place: Path) -> Finding:
    """Five times what the server can carry."""
    need_two_processors()
    target = f'synth?service={{"kind":"deterministic","mean_us":{FULL_US:g}}}&idle=spin'
    words = ("--rate", "5k", "--runs", "3..8", "--timeout", "0.5s", "--duration", "1s", "--clients", 1)
    answer = measure(target, place / "study", *words, "--workload", few_keys(place))
    assert answer.code in (4, 6), answer.err
    full = answer.result["saturation"]
    answered = full["answered_per_s"]["value"]
    low, high = (1e6 / service for service in (FULL_US + OWN_US, FULL_US))
    figure = f"by the {full['by']}, which answered {answered:.0f} a second; it can do {low:.0f} to {high:.0f}"
    return Finding(full["by"] == "server" and (1.0 - CLOSE) * low < answered < (1.0 + CLOSE) * high, figure)


def test_what_a_saturated_server_carries_is_its_capacity(claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()
    claim.settle(
        "what a saturated server is said to carry is its capacity",
        lambda: saturated(tmp_path / str(next(tries))),
    )


def crossing(service_us: float, level: float, limit_us: float) -> float:
    """Requests a second at which a quantile of M/M/1 is at the limit: 1 - load = -ln(1 - level) service / limit."""
    return (1.0 + math.log(1.0 - level) * service_us / limit_us) / service_us * 1e6


def searched(name: str, place: Path) -> Finding:
    """One search, and where theory has the crossing."""
    need_two_processors()
    level, limit_us = OBJECTIVES[name]
    few, out = few_keys(place), place / "search"
    words = ("--find-rate", f"{name}<{limit_us:g}us", "--rate", "6k", "--workload", few, "--out", out, *STEP)
    answer = finish(start("measure", QUEUE, *words, "--json"), out, SEARCH_S)
    assert answer.code in (0, 4), answer.err
    found = answer.result
    assert found["finished"]
    assert found == json.loads((out / "search.json").read_text())
    assert found["steps"][0]["outcome"] in ("fails", "spoiled"), "beyond its capacity nothing holds"
    for step in found["steps"]:
        assert step["outcome"] != "holds" or step["rate_per_s"] < 1e6 / QUEUE_US, step
    assert found["rate_per_s"] is not None, found["headline"]
    # The span covers in nine of ten searches; what the server and this host add makes the rate lower.
    low, high = (crossing(service, level, limit_us) for service in (QUEUE_US + OWN_US, QUEUE_US))
    right = found["low_per_s"] <= 1.05 * high and found["rate_per_s"] <= 1.1 * high
    held = answer.code == 0 and right and found["high_per_s"] >= 0.95 * low
    return Finding(held, f"{found['headline']} (theory: {low:.0f} to {high:.0f} a second)")


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_rate_at_which_a_queue_of_known_law_crosses_the_limit_is_found(
    name: str, claim: Claim, tmp_path: Path
) -> None:
    tries = itertools.count()
    claim.settle(
        f"the rate at which {name} of M/M/1 crosses its limit is found",
        lambda: searched(name, tmp_path / str(next(tries))),
    )


@pytest.mark.parametrize("name", OBJECTIVES)
def test_at_the_crossing_the_quantile_is_at_its_limit(name: str) -> None:
    level, limit_us = OBJECTIVES[name]
    load = crossing(QUEUE_US, level, limit_us) * QUEUE_US / 1e6
    assert mm1_sojourn(load, QUEUE_US, level) == pytest.approx(limit_us)
