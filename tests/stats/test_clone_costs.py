"""Ratios as logged are narrower where the host's speed drifts, cover at their level, and hide no other difference.

The truth is simulated. Runs of an original come from its document, with all times longer by the host's slowness; the
clone is the unchanged document. The cost of a request is known as the kernel reports it: services and time outside them.
"""

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs
from partial_documents import partial

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.parameters import apply_changes
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.commands.compare.clone import costs as control
from hindmost.commands.compare.clone.costs import COST, cost_ratios, slowdown
from hindmost.commands.compare.clone.log_costs import cost_at
from hindmost.core.store.manifest import LoggedCost
from hindmost.core.store.measure import Run
from hindmost.stats import equivalence

PAIRS = 6
OUTSIDE_US = 20.0
DRIFT = 0.06
CLONE = Clone.from_document(
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
    (outcome,) = run_points(clone, [{"load": {"rate_per_s": rate}, "seed": int(seed)}], DESIGN)
    return {name: figure.value for name, figure in outcome.prediction.latency_us.items()}


def slow_down(clone, factor):
    longer = apply_changes(clone.document, {"service_factor": factor})
    return Clone.from_document(longer | {"arrival_us": factor * clone.document["arrival_us"]})


def logged_cost(beside_us, service_us=CLONE.mean_busy_us):
    return LoggedCost(rates_per_s=list(beside_us), beside_us=list(beside_us.values()), service_us=service_us)


def record(factor):
    """The part of a run's record that gives the cost of its requests."""
    return partial(
        Run,
        server_cpu_share=(CLONE.mean_busy_us * factor + OUTSIDE_US) / 1e3,
        throughput={"achieved": 1e3},
    )


# Of this many 90 % intervals, fewer than `least` contain the truth with a probability of at most 0.1 %. The quick form
# computes its control variates from a tenth of the requests; both sides of a ratio use the same draws, so it is as good.
@pytest.mark.parametrize(
    ("share", "repeats", "least", "simulated"),
    [
        (0.6, 5, 2, 40_000),
        pytest.param(0.3, 40, 29, control.DESIGN.requests, marks=pytest.mark.nightly),
        pytest.param(0.6, 40, 29, control.DESIGN.requests, marks=pytest.mark.nightly),
    ],
)
def test_intervals_are_narrower_and_cover_at_their_level(share, repeats, least, simulated, monkeypatch):
    monkeypatch.setattr(control, "DESIGN", replace(control.DESIGN, requests=simulated))
    random = np.random.default_rng(5)
    rate = share / CLONE.mean_busy_us * 1e6
    logged = logged_cost({rate: OUTSIDE_US})
    raw, fair = [], []
    for _ in range(repeats):
        ours, theirs, costs = [], [], {"original": {}, "again": {}, "clone": {}}
        for pair in range(PAIRS):
            speeds = random.lognormal(0.0, DRIFT, 2)
            both = [run(slow_down(CLONE, speed), rate, random.integers(1, 2**31))["mean"] for speed in speeds]
            theirs.append(float(np.sqrt(np.prod(both))))
            ours.append(run(CLONE, rate, random.integers(1, 2**31))["mean"])
            costs["original"][pair], costs["again"][pair] = map(record, speeds)
            costs["clone"][pair] = record(1.0)
        late = cost_ratios(CLONE, rate, costs, range(PAIRS), logged)
        factors = [np.sqrt(late[n]["original"]["mean"] * late[n]["again"]["mean"]) for n in range(PAIRS)]
        raw.append(equivalence(ours, theirs, 0.05))
        fair.append(
            equivalence(ours, [us / factor for us, factor in zip(theirs, factors, strict=True)], 0.05)
        )
    covered = sum(result.low < 1.0 < result.high for result in fair)
    assert covered >= least, covered
    widths = [np.median([result.high - result.low for result in results]) for results in (raw, fair)]
    assert widths[1] < 0.9 * widths[0], widths


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(control, "DESIGN", replace(control.DESIGN, requests=40_000))


@pytest.mark.usefixtures("quick")
def test_a_law_of_another_shape_stays_different():
    """An original of the same mean whose service times scatter more: no cost hides that."""
    rate = 0.6 / CLONE.mean_busy_us * 1e6
    law = {"kind": "lognormal", "mean_us": CLONE.mean_busy_us, "sigma_log": 1.4}
    other = Clone.from_document(CLONE.document | {"service": [{"law": law, "weight": 1.0}]})
    costs = {side: {1: record(1.1)} for side in ("original", "again")} | {"clone": {1: record(1.0)}}
    late = cost_ratios(CLONE, rate, costs, [1], logged_cost({rate: OUTSIDE_US}))
    expected = (1.1 * CLONE.mean_busy_us + OUTSIDE_US) / (CLONE.mean_busy_us + OUTSIDE_US)
    assert late[1]["original"][COST] == pytest.approx(expected)
    dear = run(slow_down(other, 1.1), rate, 3)["mean"] / late[1]["original"]["mean"]
    assert run(CLONE, rate, 4)["mean"] / dear < 0.8


@pytest.mark.usefixtures("quick")
def test_a_pair_with_an_unknown_cost_or_one_above_the_clones_capacity_is_excluded():
    rate = 0.6 / CLONE.mean_busy_us * 1e6
    logged = logged_cost({rate: 0.0})
    fine, unknown, heavy = record(1.0), structs.replace(record(1.0), server_cpu_share=None), record(3.0)
    costs = {
        "original": {1: fine, 2: unknown, 3: heavy},
        "again": {1: fine, 2: fine, 3: fine},
        "clone": {1: fine, 2: fine, 3: fine},
    }
    assert sorted(cost_ratios(CLONE, rate, costs, [1, 2, 3], logged)) == [1]
    assert slowdown(CLONE, rate, [3.0]) == [None]


def test_cost_outside_services_is_interpolated_between_the_logged_rates():
    logged = logged_cost({1_000.0: 30.0, 3_000.0: 10.0}, 100.0)
    assert cost_at(logged, CLONE, 2_000.0) == pytest.approx(120.0)
    assert cost_at(logged, CLONE, 9_000.0) == pytest.approx(110.0)
    busy = Clone.from_document(CLONE.document | {"load": {"time": -0.2}})
    low, high = (
        cost_at(logged, busy, rate) - outside_us for rate, outside_us in ((1_000.0, 30.0), (3_000.0, 10.0))
    )
    assert low > 100.0 > high
    assert 0.25 * low + 0.75 * high == pytest.approx(100.0), (
        "the mean of the logs is the mean over their requests"
    )
