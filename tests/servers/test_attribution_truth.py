"""Goal S11: four switches of known effect in a real server, found with the right sign by intervals that cover.

The truth of each cell is what the simulator says of the very clone document that the server runs; effects in
microseconds are differences of it, free of what lies outside of the server.
"""

from __future__ import annotations

import json
import math

import pytest
from measuring import finish, need_two_cpus, start
from planted_truth import EXAMPLES, true_effects

DELTA = 0.05


@pytest.mark.nightly
def test_four_planted_switches_are_found(tmp_path):
    need_two_cpus()
    out = tmp_path / "study"
    ran = finish(
        start("attribute", EXAMPLES / "planted.toml", "--json", "--out", out, fresh=True), out, 1800.0
    )
    document = json.loads(ran.out)
    print(judge(document, tmp_path))


def judge(document, folder):
    """Signs, coverage and confirmation of a finished study; fails where the planted truth was missed."""
    truth = true_effects(document, folder)
    (load,) = document["loads"]
    covered, said, lines = 0, 0, []
    for label, effects in truth.items():
        answer = load["quantiles"][label]
        base = answer["average"][0]["value"]
        for effect in answer["average"][1:]:
            true = effects[effect["term"]]
            said += 1
            covered += effect["low"] <= true <= effect["high"]
            lines.append(
                f"{label:>4} {effect['term']:24} true {true:+8.1f}  found {effect['value']:+8.1f}"
                f" [{effect['low']:+.1f}, {effect['high']:+.1f}]  {effect['verdict']}"
            )
            if len(effect["factors"]) == 1 and abs(true) > 2.0 * DELTA * base:
                wanted = "raises" if true > 0.0 else "lowers"
                assert effect["verdict"] == wanted, lines[-1]
    (fresh,) = document["confirmations"]
    assert fresh["outcome"] == "confirmed"
    assert fresh["after"]["levels"]["hold"] == "5"
    assert fresh["ratio"]["p99"]["high"] < 1.0
    # Intervals of 95 %: no fewer than a coin of 0.95 would cover in all but one of a thousand studies.
    least = 0.95 * said - 3.1 * math.sqrt(0.95 * 0.05 * said)
    lines.append(f"{covered} of {said} intervals cover; ratio of p99 {fresh['ratio']['p99']}")
    assert covered >= least, "\n".join(lines)
    return "\n".join(lines)
