"""When the stopping rule looks, when it stops, what it reports, and whether stopping early costs coverage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from messages import raises
from rows import each_row

from hindmost.errors import ArgumentError
from hindmost.stats import PrecisionRule
from hindmost.stats.runs.intervals import mean_bounds
from hindmost.stats.runs.summary import ratio_lower_bound
from hindmost.stats.tables import t_quantile

RunLaw = Any

STEADY = [30.0, 30.4, 29.8, 30.1, 30.3, 29.9, 30.2, 30.0, 30.1, 29.7] * 3
WILD = [30.0, 50.0, 20.0, 40.0, 25.0, 60.0] * 5


def first_stop(rule: PrecisionRule, values: list[float]) -> int:
    for runs in range(1, len(values) + 1):
        if rule.decide({"p99": values[:runs]}).stop:
            return runs
    raise AssertionError("never stopped")


@each_row(
    ("rule", "expected"),
    [
        (PrecisionRule(0.05, 10, 30), 11),
        (PrecisionRule(0.05, 10, 30, consecutive=1), 10),
        (PrecisionRule(0.05, 10, 30, confirm_after=5), 15),
        (PrecisionRule(0.05, 10, 30, consecutive=3), 12),
        (PrecisionRule(0.05, 12, 30), 13),
        (PrecisionRule(0.05, 5, 30), 11),  # fewer than 10 runs only by an explicit smaller design
        (PrecisionRule(0.05, 5, 30, first_look=5), 6),
        (PrecisionRule(0.05, 3, 8), 8),
        (PrecisionRule(0.05, 10, 10), 10),
        (PrecisionRule(0.05, 1, 1), 1),
    ],
)
def test_steady_runs_stop_at_the_second_look(rule: PrecisionRule, expected: int) -> None:
    assert first_stop(rule, STEADY) == expected


def test_wild_runs_go_to_the_cap_and_are_not_called_precise() -> None:
    rule = PrecisionRule(0.05, 10, 30)
    assert first_stop(rule, WILD) == 30
    decision = rule.decide({"p99": WILD})
    assert decision.stop
    assert not decision.reached


@each_row(
    ("narrow_at", "runs", "expected"),
    [
        (set(), 0, 10),
        (set(), 9, 10),
        (set(), 10, 15),
        ({10}, 10, 11),
        ({10}, 11, 15),  # the second look disagreed: back to batches
        ({10, 15}, 15, 16),
        ({15, 16}, 16, None),
        ({10, 15, 16}, 20, None),  # already stopped; more runs change nothing
        ({12, 13}, 14, 15),  # narrow at a run without a look
        (set(), 25, 30),
        (set(), 30, None),
        ({25}, 26, 30),
    ],
)
def test_looks_follow_the_rule(narrow_at: set[int], runs: int, expected: int | None) -> None:
    assert PrecisionRule(0.05, 10, 30).next_look(narrow_at.__contains__, runs) == expected


def test_every_requested_quantile_must_be_narrow() -> None:
    rule = PrecisionRule(0.05, 10, 30)
    both = rule.decide({"p50": STEADY[:11], "p99": WILD[:11]})
    assert not both.stop
    assert both.widest == "p99"
    named = PrecisionRule(0.05, 10, 30, quantiles=("p50",))
    assert named.decide({"p50": STEADY[:11], "p99": WILD[:11]}).reached


def test_infinite_runs_neither_reach_precision_nor_keep_the_others_running() -> None:
    late = [*STEADY[:10], math.inf]
    decision = PrecisionRule(0.05, 10, 30).decide({"p50": STEADY[:11], "p99.9": late})
    assert decision.stop
    assert not decision.reached
    assert decision.widest == "p99.9"
    assert decision.half_width == math.inf


def test_path_has_one_estimate_a_run_and_the_first_without_interval() -> None:
    path = PrecisionRule(0.05).path(STEADY[:12])
    assert [e.n for e in path] == list(range(1, 13))
    assert not path[0].known
    assert all(e.known for e in path[1:])


@each_row(
    ("argument", "settings"),
    [
        ("precision", {"precision": 0.0}),
        ("precision", {"precision": math.nan}),
        ("min_runs", {"min_runs": 0}),
        ("min_runs", {"min_runs": 20, "max_runs": 10}),
        ("batch", {"batch": 0}),
        ("first_look", {"first_look": 5}),
        ("confidence", {"confidence": 95.0}),
        ("quantiles", {"quantiles": ()}),
    ],
)
def test_contradictory_rules_are_refused(argument: str, settings: dict[str, Any]) -> None:
    with raises(ArgumentError, "bad-argument", argument=argument):
        PrecisionRule(**{"precision": 0.05, **settings})


@each_row(
    ("values", "missing", "lengths"),
    [
        ({}, ["p99", "p50"], None),
        ({"p50": [1.0]}, ["p99"], None),
        ({"p99": [1.0, 2.0], "p50": [1.0]}, None, [2, 1]),
    ],
)
def test_incomplete_values_are_refused(
    values: dict[str, list[float]], missing: list[str] | None, lengths: list[int] | None
) -> None:
    with raises(ArgumentError, "bad-argument", argument="values", missing=missing, lengths=lengths):
        PrecisionRule(0.05, quantiles=("p99", "p50")).decide(values)


class Simulation:
    """Many studies of one law: intervals after every run, vectorised; then any rule's schedule over them."""

    def __init__(self, law: RunLaw, cap: int, replications: int, seed: int) -> None:
        x = law.draw(np.random.default_rng(seed), (replications, cap))
        self.width = np.full((cap + 1, replications), np.inf)
        self.hit = np.zeros((cap + 1, replications), dtype=bool)
        for n in range(2, cap + 1):
            mean, _, high = mean_bounds(x[:, :n])
            low = np.minimum(ratio_lower_bound(x[:, :n]), mean)
            self.width[n] = (high - low) / 2.0 / mean
            self.hit[n] = (low <= law.mean) & (law.mean <= high)

    def coverage_and_runs(self, rule: PrecisionRule) -> tuple[float, float]:
        """Coverage of the interval at the stop, and the mean number of runs."""
        narrow = (self.width <= rule.precision).T.tolist()
        stops = [self._stop(rule, row) for row in narrow]
        return float(self.hit[stops, np.arange(len(stops))].mean()), float(np.mean(stops))

    @staticmethod
    def _stop(rule: PrecisionRule, narrow: list[bool]) -> int:
        stop, scheduled = 0, rule.next_look(narrow.__getitem__, 0)
        while scheduled is not None:
            stop, scheduled = scheduled, rule.next_look(narrow.__getitem__, scheduled)
        return stop


def test_simulated_schedule_is_the_one_that_decides(laws: dict[str, RunLaw]) -> None:
    rule = PrecisionRule(0.03, 10, 40)
    x = laws["lognormal 5%"].draw(np.random.default_rng(9), (30, 40))
    expected = np.mean([first_stop(rule, list(row)) for row in x])
    _, runs = Simulation(laws["lognormal 5%"], 40, 30, seed=9).coverage_and_runs(rule)
    assert runs == pytest.approx(expected)


def test_stopping_at_the_default_precision_covers(run_law: RunLaw) -> None:
    """1,500 replications, goal .94: the bound allows 4 standard errors below it (one chance in 30,000)."""
    coverage, _ = Simulation(run_law, 30, 1_500, seed=4).coverage_and_runs(PrecisionRule(0.05, 10, 30))
    assert coverage >= 0.94 - 4.0 * math.sqrt(0.94 * 0.06 / 1_500)


@pytest.mark.nightly
@pytest.mark.parametrize("cap", [30, 130])
def test_stopping_covers_94_percent_at_every_precision(run_law: RunLaw, cap: int) -> None:
    """Goal S9 on all six laws; 10,000 replications, bound 2 standard errors below the goal, seeded.

    The run cost goal (1.25 times the oracle's) is missed on the narrow bimodal law: 1.3, documented.
    """
    slack = 2.0 * math.sqrt(0.94 * 0.06 / 10_000)
    relative_sd = run_law.sd / run_law.mean
    simulation = Simulation(run_law, cap, 10_000, seed=6)
    for precision in (0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.07):
        coverage, runs = simulation.coverage_and_runs(PrecisionRule(precision, 10, cap))
        wide = (n for n in range(2, 500) if t_quantile(n - 1, 0.975) * relative_sd / n**0.5 <= precision)
        oracle = next(wide, 500)
        print(
            f"{run_law.name:15} {precision:6.3f} cap {cap:3} {coverage:.3f} runs {runs:5.1f} oracle {oracle}"
        )
        assert coverage >= 0.94 - slack
        if 20 <= oracle <= cap * 0.75:
            assert runs <= (1.35 if run_law.name == "bimodal 2%" else 1.25) * oracle


@pytest.mark.nightly
def test_very_skewed_runs_under_cover_by_no_more_than_documented(laws: dict[str, RunLaw]) -> None:
    simulation = Simulation(laws["shifted exponential"], 130, 10_000, seed=7)
    measured = [simulation.coverage_and_runs(PrecisionRule(p, 10, 130))[0] for p in (0.02, 0.03, 0.05)]
    assert 0.91 <= min(measured) < 0.94
