"""Ratios as logged: narrower where the host's speed drifts, as often right as they say, and blind to nothing else.

The truth is simulated: "runs" of an original are those of its document, all times of each longer by what a host
made of them; the clone is the document as it is. What a request cost is known as the kernel tells it: services
and what is beside them.
"""

from dataclasses import replace

import numpy as np
import pytest

from hindmost.models import Clone
from hindmost.models.parameters import apply_changes
from hindmost.models.simulation import Design, run_points
from hindmost.stats import equivalence
from hindmost.studies.comparison.clone import costs as control
from hindmost.studies.comparison.clone.costs import COST, cost_ratios, slowdown
from hindmost.studies.comparison.clone.log_costs import LoggedCost

PAIRS = 6
BESIDE_US = 20.0
DRIFT = 0.06
SPOKEN = Clone.from_document(
    {
        "schema": "hindmost.clone/1",
        "name": "planted",
        "service": [
            {"weight": 0.9, "law": {"kind": "lognormal", "median_us": 60.0, "sigma_log": 0.4}},
            {"weight": 0.1, "law": {"kind": "lognormal", "median_us": 400.0, "sigma_log": 0.4}},
        ],
        "arrival_us": 15.0,
    }
)
DESIGN = Design(requests=20_000, quantiles=(0.95, 0.99), sections=1)


def run(clone, rate, seed):
    (found,) = run_points(clone, [{"load": {"rate_per_s": rate}, "seed": int(seed)}], DESIGN)
    return {name: one["value"] for name, one in found.prediction["latency_us"].items()}


def drifted(clone, factor):
    longer = apply_changes(clone.document, {"service_factor": factor})
    return Clone.from_document(longer | {"arrival_us": factor * clone.document["arrival_us"]})


def record(factor):
    """As far as a run's record tells what its requests cost."""
    return {
        "server_cpu_share": (SPOKEN.mean_busy_us * factor + BESIDE_US) / 1e3,
        "throughput": {"achieved": 1e3},
    }


# Of so many intervals of 90 %, fewer than `least` hold the truth with a chance of 0.1 % at most. The small form
# knows its control variates from a tenth of the requests: both of a ratio draw the same, so that it is as good.
@pytest.mark.parametrize(
    ("share", "repeats", "least", "simulated"),
    [
        (0.6, 5, 2, 40_000),
        pytest.param(0.3, 40, 29, control.DESIGN.requests, marks=pytest.mark.nightly),
        pytest.param(0.6, 40, 29, control.DESIGN.requests, marks=pytest.mark.nightly),
    ],
)
def test_intervals_are_narrower_and_hold_the_truth_as_often_as_they_say(
    share, repeats, least, simulated, monkeypatch
):
    monkeypatch.setattr(control, "DESIGN", replace(control.DESIGN, requests=simulated))
    random = np.random.default_rng(5)
    rate = share / SPOKEN.mean_busy_us * 1e6
    logged = LoggedCost((rate,), (BESIDE_US,), SPOKEN.mean_busy_us)
    raw, fair = [], []
    for _ in range(repeats):
        ours, theirs, costs = [], [], {"original": {}, "again": {}, "clone": {}}
        for pair in range(PAIRS):
            speeds = random.lognormal(0.0, DRIFT, 2)
            both = [run(drifted(SPOKEN, speed), rate, random.integers(1, 2**31))["mean"] for speed in speeds]
            theirs.append(float(np.sqrt(np.prod(both))))
            ours.append(run(SPOKEN, rate, random.integers(1, 2**31))["mean"])
            costs["original"][pair], costs["again"][pair] = map(record, speeds)
            costs["clone"][pair] = record(1.0)
        late = cost_ratios(SPOKEN, rate, costs, range(PAIRS), logged)
        owed = [np.sqrt(late[n]["original"]["mean"] * late[n]["again"]["mean"]) for n in range(PAIRS)]
        raw.append(equivalence(ours, theirs, 0.05))
        fair.append(equivalence(ours, [us / by for us, by in zip(theirs, owed, strict=True)], 0.05))
    held = sum(one.low < 1.0 < one.high for one in fair)
    assert held >= least, held
    widths = [np.median([one.high - one.low for one in found]) for found in (raw, fair)]
    assert widths[1] < 0.9 * widths[0], widths


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(control, "DESIGN", replace(control.DESIGN, requests=40_000))


@pytest.mark.usefixtures("quick")
def test_a_law_of_another_shape_stays_different():
    """An original of the same mean whose services scatter more: no cost hides it."""
    rate = 0.6 / SPOKEN.mean_busy_us * 1e6
    law = {"kind": "lognormal", "mean_us": SPOKEN.mean_busy_us, "sigma_log": 1.4}
    other = Clone.from_document(SPOKEN.document | {"service": [{"law": law, "weight": 1.0}]})
    costs = {who: {1: record(1.1)} for who in ("original", "again")} | {"clone": {1: record(1.0)}}
    late = cost_ratios(SPOKEN, rate, costs, [1], LoggedCost((rate,), (BESIDE_US,), SPOKEN.mean_busy_us))
    expected = (1.1 * SPOKEN.mean_busy_us + BESIDE_US) / (SPOKEN.mean_busy_us + BESIDE_US)
    assert late[1]["original"][COST] == pytest.approx(expected)
    dear = run(drifted(other, 1.1), rate, 3)["mean"] / late[1]["original"]["mean"]
    assert run(SPOKEN, rate, 4)["mean"] / dear < 0.8


@pytest.mark.usefixtures("quick")
def test_a_cost_that_the_clone_could_not_bear_or_that_nobody_knows_leaves_the_pair_out():
    rate = 0.6 / SPOKEN.mean_busy_us * 1e6
    logged = LoggedCost((rate,), (0.0,), SPOKEN.mean_busy_us)
    fine, unknown, heavy = record(1.0), {"server_cpu_share": None}, record(3.0)
    costs = {
        "original": {1: fine, 2: unknown, 3: heavy},
        "again": {1: fine, 2: fine, 3: fine},
        "clone": {1: fine, 2: fine, 3: fine},
    }
    assert sorted(cost_ratios(SPOKEN, rate, costs, [1, 2, 3], logged)) == [1]
    assert slowdown(SPOKEN, rate, [3.0]) == [None]


def test_cost_outside_services_is_interpolated_between_the_logged_rates():
    logged = LoggedCost((1_000.0, 3_000.0), (30.0, 10.0), 100.0)
    assert logged.cost_at(SPOKEN, 2_000.0) == pytest.approx(120.0)
    assert logged.cost_at(SPOKEN, 9_000.0) == pytest.approx(110.0)
    busy = Clone.from_document(SPOKEN.document | {"load": {"time": -0.2}})
    low, high = (logged.cost_at(busy, rate) - beside for rate, beside in ((1_000.0, 30.0), (3_000.0, 10.0)))
    assert low > 100.0 > high
    assert 0.25 * low + 0.75 * high == pytest.approx(100.0), "the logs' mean is that of their requests"
