"""The capacity of a server, and the rate at which it reaches a limit, are found where theory puts them."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import pytest
from measuring import finish, measure, need_two_cpus, start
from queueing import mm1_sojourn

from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

OWN_US = 30.0
"""Most CPU time a request costs the server in addition to its service time: read, write, poll."""

FULL_US = 1000.0
CLOSE = 0.02

QUEUE_US = 200.0
QUEUE = f'synth?service={{"kind":"exponential","mean_us":{QUEUE_US:g}}}&idle=spin'
"""With random arrivals an M/M/1 queue with a capacity of 5,000 requests/s."""
OBJECTIVES = {"p50": (0.5, 700.0), "p99": (0.99, 9_000.0)}
"""Level and limit: near 80 % and 90 % of the capacity, where a few percent of the rate change latency by tens."""
STEP = ("--duration", "1s", "--warmup", "0.3s", "--quantiles", "50", "--samples", "0", "--runs", "3..6")
SEARCH_S = 500.0


def few_keys(folder: Path) -> Path:
    """A workload whose values are stored quickly."""
    folder.mkdir()
    file = folder / "few.json"
    file.write_text('{"kind": "key-value", "keys": 100}')
    return file


def saturate(place: Path) -> Finding:
    """Send five times what the server can carry."""
    need_two_cpus()
    target = f'synth?service={{"kind":"deterministic","mean_us":{FULL_US:g}}}&idle=spin'
    options = ("--rate", "5k", "--runs", "3..8", "--timeout", "0.5s", "--duration", "1s", "--clients", 1)
    answer = measure(target, place / "study", *options, "--workload", few_keys(place))
    assert answer.code in (4, 6), answer.err
    saturation = answer.result["saturation"]
    rate = saturation["answered_per_s"]["value"]
    low, high = (1e6 / service for service in (FULL_US + OWN_US, FULL_US))
    figure = (
        f"by the {saturation['by']}, which answered {rate:.0f} a second; it can do {low:.0f} to {high:.0f}"
    )
    held = saturation["by"] == "server" and (1.0 - CLOSE) * low < rate < (1.0 + CLOSE) * high
    return Finding(held, figure)


def test_the_rate_a_saturated_server_answers_is_its_capacity(claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()
    claim.settle(
        "the reported rate of a saturated server is its capacity",
        lambda: saturate(tmp_path / str(next(tries))),
    )


def crossing(service_us: float, level: float, limit_us: float) -> float:
    """Requests a second at which a quantile of M/M/1 is at the limit: 1 - load = -ln(1 - level) service / limit."""
    return (1.0 + math.log(1.0 - level) * service_us / limit_us) / service_us * 1e6


def search(name: str, place: Path) -> Finding:
    """Search once, and compare with theory."""
    need_two_cpus()
    level, limit_us = OBJECTIVES[name]
    few, out = few_keys(place), place / "search"
    options = (
        "--find-rate",
        f"{name}<{limit_us:g}us",
        "--rate",
        "6k",
        "--workload",
        few,
        "--out",
        out,
        *STEP,
    )
    answer = finish(start("measure", QUEUE, *options, "--json"), out, SEARCH_S)
    assert answer.code in (0, 4), answer.err
    result = answer.result
    assert result["finished"]
    assert result == json.loads((out / "search.json").read_text())
    assert result["steps"][0]["outcome"] in ("fails", "spoiled"), "no limit holds above capacity"
    for step in result["steps"]:
        assert step["outcome"] != "holds" or step["rate_per_s"] < 1e6 / QUEUE_US, step
    assert result["rate_per_s"] is not None, result["headline"]
    # The span covers in nine of ten searches; costs of the server and of this host lower the rate.
    low, high = (crossing(service, level, limit_us) for service in (QUEUE_US + OWN_US, QUEUE_US))
    right = result["low_per_s"] <= 1.05 * high and result["rate_per_s"] <= 1.1 * high
    held = answer.code == 0 and right and result["high_per_s"] >= 0.95 * low
    return Finding(held, f"{result['headline']} (theory: {low:.0f} to {high:.0f} a second)")


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_rate_at_which_a_queue_of_known_law_crosses_the_limit_is_found(
    name: str, claim: Claim, tmp_path: Path
) -> None:
    tries = itertools.count()
    claim.settle(
        f"the rate at which {name} of M/M/1 crosses its limit is found",
        lambda: search(name, tmp_path / str(next(tries))),
    )


@pytest.mark.parametrize("name", OBJECTIVES)
def test_at_the_crossing_the_quantile_is_at_its_limit(name: str) -> None:
    level, limit_us = OBJECTIVES[name]
    load = crossing(QUEUE_US, level, limit_us) * QUEUE_US / 1e6
    assert mm1_sojourn(load, QUEUE_US, level) == pytest.approx(limit_us)
