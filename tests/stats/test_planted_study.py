"""Four planted switches under interference: effects at p50, p95 and p99 are right, and no recommendation is wrong.

The study is analysed as in `hindmost attribute`. Runs and truth come from the same simulation, the truth without
interruptions. Without isolated latency none of this holds: the interferer, not a switch, causes the tail.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from planted_world import CELLS, CONTROL, LEVELS, SWITCHES, average_effects, run, study, truth

from hindmost.commands.attribute import effects, model
from hindmost.commands.attribute.document import Recommendation
from hindmost.commands.attribute.plan import AttributionPlan
from hindmost.commands.attribute.recommend import recommendation
from hindmost.commands.attribute.resolve import resolve
from hindmost.stats import compare_runs

FILE = """
name = "planted"
target = "synth"
quantiles = "50,95,99"
[[load]]
name = "busy"
rate = "2k"
[design]
blocks = "{blocks}"
"""
FACTOR = '[[factor]]\nname = "{name}"\n{sets}\n'
SETS = (
    'option = "seed"\nlevels = [1, 2]',
    'option = "idle"\nlevels = ["block", "spin"]',
    'option = "memory_mib"\nlevels = [64, 128]',
    'option = "threads"\nlevels = [1, 2]',
)
CLEAR = math.log(1.2)
"""Least true effect that a study of six blocks must show."""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> AttributionPlan:
    file: Path = tmp_path_factory.mktemp("planted") / "study.toml"
    factors = [FACTOR.format(name=name, sets=sets) for name, sets in zip(SWITCHES, SETS, strict=True)]
    file.write_text(FILE.format(blocks=6) + "\n".join(factors))
    return resolve(file, None, budget=None, without=None)[0]


@pytest.fixture(scope="module")
def true() -> dict:
    return truth()


def evaluate_study(plan: AttributionPlan, true: dict, seed: int, *, isolated: bool = True) -> dict[str, int]:
    """Count clear effects shown and missed, wrong signs, false alarms, covering intervals, and advice of one study."""
    cells = study(6, seed, isolated=isolated)
    fits = {("busy", name): model.fit_model(plan, cells, name) for name in LEVELS}
    _, answers = effects.answer_quantiles(plan, fits)
    tally = dict.fromkeys(("shown", "missed", "wrong", "false", "asked", "covered", "advised", "misled"), 0)
    for name in LEVELS:
        for term, effect in average_effects(true, name).items():
            rows = answers["busy", name].average
            row = next(row for row in rows if tuple(row.factors) == term)
            shown = row.verdict in ("raises", "lowers")
            right = row.verdict == ("raises" if effect > 0.0 else "lowers")
            tally["asked"] += 1
            tally["covered"] += row.share_low <= math.expm1(effect) <= row.share_high
            if abs(effect) < 0.01:
                tally["false"] += shown
            else:
                tally["wrong"] += shown and not right
                if abs(effect) > CLEAR:
                    tally["shown" if right else "missed"] += 1
    advice = recommendation(plan, fits, {"busy": cells})
    if advice.levels is not None:
        tally["advised"] = 1
        tally["misled"] = _is_misleading(advice, plan.cell(advice.levels), true)
    return tally


def _is_misleading(advice: Recommendation, after: tuple[int, ...], true: dict) -> bool:
    """Whether the advice is no better than the present setting, or conceals its costs."""
    stated = {price.quantile for price in advice.prices}
    dearer = {name for name in LEVELS if true[after][name] > 1.05 * true[CONTROL][name]}
    return bool(true[after]["p99"] >= true[CONTROL]["p99"] or dearer - stated)


def sum_tallies(plan: AttributionPlan, true: dict, seeds: range) -> dict[str, int]:
    tallies = [evaluate_study(plan, true, seed) for seed in seeds]
    return {name: sum(tally[name] for tally in tallies) for name in tallies[0]}


def check(tally: dict[str, int], studies: int) -> None:
    assert tally["missed"] == 0, tally
    assert tally["wrong"] == 0, tally
    assert tally["misled"] == 0, tally
    assert tally["advised"] == studies, tally
    # False alarms in one study of 20 (all terms together), plus four standard errors.
    assert tally["false"] <= 0.05 * studies + 4.0 * math.sqrt(0.05 * 0.95 * studies), tally
    coverage = tally["covered"] / tally["asked"]
    # Effects of one study share runs, as if a third of them were independent.
    assert coverage > 0.95 - 4.0 * math.sqrt(0.05 * 0.95 / (tally["asked"] / 3)), tally


def test_planted_switches_are_found_under_interference_and_the_right_one_is_recommended(plan, true) -> None:
    check(sum_tallies(plan, true, range(1)), 1)


@pytest.mark.nightly
def test_twenty_studies_under_interference_give_no_wrong_recommendation(plan) -> None:
    # All studies share the error of the truth: it must be small compared with their narrowest intervals.
    exact = truth(6_000_000)
    check(sum_tallies(plan, exact, range(100, 120)), 20)


def test_without_isolated_latency_the_interferer_hides_the_switches(plan, true) -> None:
    tally = evaluate_study(plan, true, 0, isolated=False)
    assert tally["missed"] + (1 - tally["advised"]) > 0, tally


def test_the_truth_equals_what_was_planted(true) -> None:
    base = true[CONTROL]["p50"]
    assert true[1, 0, 0, 0]["p50"] == pytest.approx(base + 300.0, rel=0.01)
    assert true[1, 1, 0, 0]["p50"] == pytest.approx(base + 800.0, rel=0.01)
    assert true[0, 1, 0, 0] == pytest.approx(true[CONTROL])
    assert all(true[cell] == true[(*cell[:2], 0, cell[3])] for cell in CELLS)
    assert true[CONTROL]["p99"] > 5.0 * true[0, 0, 0, 1]["p99"]


def confirmations(studies: int, seed: int) -> tuple[int, int]:
    """Fresh pairs under interference: how often `nothing` is called a change, and how often `steady` is found."""
    g = np.random.default_rng(seed)
    false = found = 0
    for _ in range(studies):
        sides = {
            cell: [run(block, cell, g).values["p99"] for block in range(8)]
            for cell in (CONTROL, (0, 0, 1, 0), (0, 0, 0, 1))
        }
        false += compare_runs(sides[CONTROL], sides[0, 0, 1, 0]).change in ("lower", "higher")
        found += compare_runs(sides[CONTROL], sides[0, 0, 0, 1]).change == "lower"
    return false, found


def test_fresh_pairs_under_interference_confirm_the_real_change_and_nothing_else() -> None:
    false, found = confirmations(4, 1)
    assert false <= 2  # at a rate of 5 %, three of four happen once in 2,000
    assert found == 4
