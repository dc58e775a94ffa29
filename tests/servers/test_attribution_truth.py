"""Goal S11: four switches of known effect in a real server are found with the right sign, and intervals cover.

The truth of each cell comes from the simulator, with the same clone document that the server runs. Effects in
microseconds are differences, so time outside of the server cancels.
"""

from __future__ import annotations

import json
import math

import pytest
from measuring import finish, need_two_cpus, start
from planted_truth import EXAMPLES, true_effects

DELTA = 0.05


@pytest.mark.nightly
@pytest.mark.timeout(1500)
def test_four_planted_switches_are_found(tmp_path):
    need_two_cpus()
    out = tmp_path / "study"
    answer = finish(
        start("attribute", EXAMPLES / "planted.toml", "--json", "--out", out, fresh=True), out, 1800.0
    )
    document = json.loads(answer.out)
    print(judge(document, tmp_path))


def judge(document, folder):
    """Check signs, coverage and confirmation of a finished study against the planted truth."""
    truth = true_effects(document, folder)
    (load,) = document["loads"]
    covered, total, lines = 0, 0, []
    for label, effects in truth.items():
        answer = load["quantiles"][label]
        base = answer["average"][0]["value"]
        for effect in answer["average"][1:]:
            true = effects[effect["term"]]
            total += 1
            covered += effect["low"] <= true <= effect["high"]
            lines.append(
                f"{label:>4} {effect['term']:24} true {true:+8.1f}  found {effect['value']:+8.1f}"
                f" [{effect['low']:+.1f}, {effect['high']:+.1f}]  {effect['verdict']}"
            )
            if len(effect["factors"]) == 1 and abs(true) > 2.0 * DELTA * base:
                expected = "raises" if true > 0.0 else "lowers"
                assert effect["verdict"] == expected, lines[-1]
    (fresh,) = document["confirmations"]
    assert fresh["outcome"] == "confirmed"
    assert fresh["after"]["levels"]["hold"] == "5"
    assert fresh["ratio"]["p99"]["high"] < 1.0
    # Intervals of 95 %: three standard deviations below the expected number, reached in all but one of 1,000 studies.
    least = 0.95 * total - 3.1 * math.sqrt(0.95 * 0.05 * total)
    lines.append(f"{covered} of {total} intervals cover; ratio of p99 {fresh['ratio']['p99']}")
    assert covered >= least, "\n".join(lines)
    return "\n".join(lines)
